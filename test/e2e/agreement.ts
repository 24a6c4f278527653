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

/** Longer than every wait of the product, the retry of a stopped account included. */
const LONG_MS = 1_200_000
const LOOK_MS = 25
const LOOKS_A_COMPARISON = 40
/** Those that read and apply look each second or two; all others would only take time. */
const READERS = { napMs: 2_000 }
/** What went to sleep just before it was woken is woken once more. */
const LOOKS_A_WAKE = 10

/**
 * Compares the mirror with what the sandbox shows now.
 * @returns one line for each record that differs; none when they agree.
 */
export async function differences(db: Db, sandbox: Sandbox, account: string, submissionIds?: readonly string[]): Promise<string[]> {
  const submissions = submissionIds ? submissionIds.flatMap((id) => sandbox.truth(account, id)) : sandbox.truth(account)
  const compared = await compareWithTruth(db.read, account, truthSchema.parse({ account, submissions }))
  return compared.flatMap(({ differences }) =>
    differences.map((one) => `${account} ${one.table} ${one.submissionId} ${one.key}: ${String(one.what)}`),
  )
}

/** Looks at several tables one after the other, beside a product that may be at work: anew while a change was logged meanwhile. */
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

/**
 * Plays the change log from its beginning.
 * @returns one line for each hole in its numbers, and for each row that is not in the mirror as the log tells it; none when it is whole.
 */
export async function logFaults(db: Db): Promise<string[]> {
  return whileUnchanged(db, () => faultsOf(db))
}

async function faultsOf(db: Db): Promise<string[]> {
  const changes = await changesOf(db)
  const lastSeq = await lastSeqOf(db)
  const faults = changes.flatMap((change, index) => (change.seq === index + 1 ? [] : [`seq ${change.seq} stands at ${index + 1}`]))
  if (lastSeq !== changes.length) faults.push(`the last seq is ${lastSeq}, and there are ${changes.length} rows`)
  const told = replayChanges(changes)
  for (const entity of entities) {
    for (const row of await rowsOf(db, entity)) {
      const columns = Object.fromEntries(columnsWhere(entity, isInChangeLog).map((column) => [column, row[column] ?? null]))
      const stable = (values: Row) => canonicalJson(withStableLinks(values))
      const key = `${row['account']} ${entity.table} ${JSON.stringify(entity.key.slice(1).map((column) => row[column]))}`
      const known = told.get(key)
      told.delete(key)
      if (known === undefined) faults.push(`${key} is in the mirror and not in the log`)
      else if (stable(known) !== stable(columns)) faults.push(`${key} differs from what the log tells`)
    }
  }
  for (const key of told.keys()) faults.push(`${key} is in the log and not in the mirror`)
  return faults
}

/** Events and messages of an account that are in the mirror, by id. */
export async function recordIds(db: Db, account: string): Promise<Set<string>> {
  const events = await db.read.sql.selectFrom('market_events').select('event_id').where('account', '=', account).execute()
  const messages = await db.read.sql.selectFrom('thread_messages').select('message_id').where('account', '=', account).execute()
  return new Set([...events.map((row) => row.event_id), ...messages.map((row) => row.message_id)])
}

/**
 * Lets so much time pass that everything is read and replayed once more, and compares, until mirror and service agree: what lies behind
 * a cursor is found by replays. With faults on a read may fail: its backoff is made to pass too.
 * @param running what fills the mirror; it is woken when it has something to do; left out where it cannot be.
 * @returns the differences that are left when they did not agree for as long as a test may wait; none when they agree.
 */
export async function untilAgreed(db: Db, sandbox: Sandbox, running?: Pick<Served, 'wake'>): Promise<string[]> {
  const end = performance.now() + PATIENCE_MS
  let since = Number.NaN
  let isAllRead = true
  let left: string[] = []
  for (let look = 1; ; look++) {
    if (isAllRead) {
      // A read that was in flight before may have asked the service before its last change.
      since = Date.now()
      await letTimePass(db, LONG_MS)
      running?.wake(READERS)
    }
    await systemClock.sleep(LOOK_MS)
    const isOver = performance.now() > end
    isAllRead = (await unread(db, since)) === 0
    if (isAllRead || look % LOOKS_A_COMPARISON === 0 || isOver) {
      left = []
      for (const account of sandbox.accountNames) left.push(...(await differences(db, sandbox, account)))
      if (left.length === 0 || isOver) return left
    }
    if ((await endBackoffs(db, since)) || look % LOOKS_A_WAKE === 0) running?.wake(READERS)
  }
}

/**
 * Looks until `condition` holds.
 * @returns whether it did within `ms`.
 */
export async function waitFor(condition: () => boolean | Promise<boolean>, ms = PATIENCE_MS): Promise<boolean> {
  const deadline = Date.now() + ms
  while (!(await condition())) {
    if (Date.now() > deadline) return false
    await systemClock.sleep(LOOK_MS)
  }
  return true
}

/** How much is still to be done: deliveries that wait, reads not made to their end since, feeds not replayed since. */
export async function unread(db: Db, sinceMs: number): Promise<number> {
  const since = db.kind === 'sqlite' ? sql`${timeFromMs(sinceMs)}` : sql`${timeFromMs(sinceMs)}::timestamptz`
  const { rows } = await sql<{ n: number }>`
    select (select count(*) from sync_inbox where state = 'ready')
      + (select count(*) from sync_known_ids where due_at is not null and (last_read_at is null or last_read_at < ${since}))
      + (select count(*) from sync_reads where last_read_at is null or last_read_at < ${since}
          or (read in (${sql.join(feeds)}) and (last_replay_at is null or last_replay_at < ${since}))) as n`.execute(db.read.sql)
  return Number(rows[0]?.n)
}

/** All rows of the inbox that say what became of a delivery. */
export async function inboxRows(db: Db): Promise<Row[]> {
  return await db.read.sql.selectFrom('sync_inbox').select(['account', 'delivery_id', 'state', 'lease_token']).execute()
}
