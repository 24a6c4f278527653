import { sql } from 'kysely'
import { systemClock } from '../../src/base/clock.ts'
import { compareWithTruth, truthSchema } from '../../src/demo/compare.ts'
import { entities } from '../../src/model/entities.ts'
import type { Row } from '../../src/model/entity.ts'
import { columnsWhere, isInChangeLog } from '../../src/model/entity.ts'
import { canonicalJson } from '../../src/model/json.ts'
import { withStableLinks } from '../../src/model/links.ts'
import { feeds } from '../../src/model/reads.ts'
import { timeFromMs } from '../../src/model/time.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { changesOf, replayChanges, rowsOf } from '../tools/mirror.ts'
import { PATIENCE_MS } from '../tools/until.ts'
import type { Served } from './serve.ts'
import { endBackoffs, letTimePass } from './time.ts'

/** Longer than every wait of the product, including the retry of a stopped account. */
const LONG_MS = 1_200_000
const LOOK_MS = 25
/** Wakes only loops that read and apply; others would take time. */
const READERS = { napMs: 2_000 }
/** Wakes again those that fell asleep just before. */
const LOOKS_A_WAKE = 10

/** Compares the mirror with the sandbox. @returns one line per difference. */
export async function differences(db: Db, sandbox: Sandbox, account: string, submissionIds?: readonly string[]): Promise<string[]> {
  const submissions = submissionIds ? submissionIds.flatMap((id) => sandbox.truth(account, id)) : sandbox.truth(account)
  const compared = await compareWithTruth(db.read, account, truthSchema.parse({ account, submissions }))
  return compared.flatMap(({ differences }) =>
    differences.map((one) => `${account} ${one.table} ${one.submissionId} ${one.key}: ${String(one.what)}`),
  )
}

/** Reads several tables of a working product; repeats if a change was logged in between. */
export async function whileUnchanged<T>(db: Db, look: () => Promise<T>): Promise<T> {
  for (;;) {
    const lastSeq = await lastSeqOf(db)
    const seen = await look()
    if ((await lastSeqOf(db)) === lastSeq) return seen
  }
}

async function lastSeqOf(db: Db): Promise<number> {
  return (await db.read.sql.selectFrom('mirror_info').select('last_seq').executeTakeFirstOrThrow()).last_seq
}

/** Replays the change log. @returns one line per hole, and per row that differs from the mirror. */
export async function logFaults(db: Db): Promise<string[]> {
  return whileUnchanged(db, () => faultsOf(db))
}

async function faultsOf(db: Db): Promise<string[]> {
  const changes = await changesOf(db)
  const lastSeq = await lastSeqOf(db)
  const faults = changes.flatMap((change, index) => (change.seq === index + 1 ? [] : [`seq ${change.seq} is at position ${index + 1}`]))
  if (lastSeq !== changes.length) faults.push(`the last seq is ${lastSeq}, and there are ${changes.length} rows`)
  const logged = replayChanges(changes)
  for (const entity of entities) {
    for (const row of await rowsOf(db, entity)) {
      const columns = Object.fromEntries(columnsWhere(entity, isInChangeLog).map((column) => [column, row[column] ?? null]))
      const stable = (values: Row) => canonicalJson(withStableLinks(values))
      const key = `${row['account']} ${entity.table} ${JSON.stringify(entity.key.slice(1).map((column) => row[column]))}`
      const known = logged.get(key)
      logged.delete(key)
      if (known === undefined) faults.push(`${key} is in the mirror and not in the log`)
      else if (stable(known) !== stable(columns)) faults.push(`${key} differs from the log`)
    }
  }
  for (const key of logged.keys()) faults.push(`${key} is in the log and not in the mirror`)
  return faults
}

/** Ids of an account's events and messages in the mirror. */
export async function recordIds(db: Db, account: string): Promise<Set<string>> {
  const events = await db.read.sql.selectFrom('market_events').select('event_id').where('account', '=', account).execute()
  const messages = await db.read.sql.selectFrom('thread_messages').select('message_id').where('account', '=', account).execute()
  return new Set([...events.map((row) => row.event_id), ...messages.map((row) => row.message_id)])
}

/**
 * Advances time until everything is read again and the mirror agrees with the service. Backoffs of failed reads expire too. Compares only
 * after all reads, since equal tables don't prove that raw answers are current.
 * @param running the product, woken when it has work; undefined if that is impossible.
 * @returns the remaining differences at the time limit; empty: they agree.
 */
export async function untilAgreed(db: Db, sandbox: Sandbox, running?: Pick<Served, 'wake'>): Promise<string[]> {
  const end = performance.now() + PATIENCE_MS
  let since = Number.NaN
  let isAllRead = true
  for (let look = 1; ; look++) {
    if (isAllRead) {
      // A read in flight may be older than the service's last change.
      since = Date.now()
      await letTimePass(db, LONG_MS)
      running?.wake(READERS)
    }
    await systemClock.sleep(LOOK_MS)
    const isOver = performance.now() > end
    isAllRead = (await unread(db, since)) === 0
    if (isAllRead || isOver) {
      const left: string[] = []
      for (const account of sandbox.accountNames) left.push(...(await differences(db, sandbox, account)))
      if (left.length === 0 || isOver) return left
    }
    if ((await endBackoffs(db, since, { full: true })) || look % LOOKS_A_WAKE === 0) running?.wake(READERS)
  }
}

/** Waits until `condition` holds. @returns whether it did within `ms`. */
export async function waitFor(condition: () => boolean | Promise<boolean>, ms = PATIENCE_MS): Promise<boolean> {
  const deadline = Date.now() + ms
  while (!(await condition())) {
    if (Date.now() > deadline) return false
    await systemClock.sleep(LOOK_MS)
  }
  return true
}

/** Remaining work: waiting deliveries, reads not completed since, feeds not fully read since. */
export async function unread(db: Db, sinceMs: number): Promise<number> {
  const since = db.kind === 'sqlite' ? sql`${timeFromMs(sinceMs)}` : sql`${timeFromMs(sinceMs)}::timestamptz`
  return await db.read.count(sql<{ n: number }>`
    select (select count(*) from sync_inbox where state = 'ready')
      + (select count(*) from sync_reads where due_at is not null and (last_read_at is null or last_read_at < ${since}
          or read in (${sql.join(feeds)}) and (last_full_read_at is null or last_full_read_at < ${since}))) as n`)
}

/** All inbox rows with their outcome. */
export async function inboxRows(db: Db): Promise<Row[]> {
  return await db.read.sql.selectFrom('sync_inbox').select(['account', 'delivery_id', 'state', 'lease_token']).execute()
}
