import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { timeFromMs } from '../../src/model/time.ts'
import { lastAssignedSeq } from '../../src/store/changes/log-ends.ts'
import { checkLogEpoch } from '../../src/store/changes/log-epoch.ts'
import type { DatabaseConfig, Db } from '../../src/store/engine/db.ts'
import { InboxAppender } from '../../src/store/inbox/append.ts'
import { ensureDestinations } from '../../src/store/outbox/destinations.ts'
import { ensureAccounts } from '../../src/store/reads/accounts.ts'
import { Worker } from '../../src/work/worker.ts'
import { inboxRows, logFaults, recordIds } from '../e2e/agreement.ts'
import { newSqlite, openAgain, silentLog } from '../tools/databases.ts'
import { copyMigrated } from '../tools/migrated.ts'
import { uuid, wireMessage } from '../tools/observations.ts'
import { until } from '../tools/until.ts'

const SECTOR = 512
/** Sectors between two tries. It divides no page size, so that every part of a frame is cut once. */
const STEP = 5
const LOG_HEAD = 32
const FRAME_HEAD = 24
const PAGE = 4_096
const DELIVERIES = 2

/** A database, its write-ahead log after a power failure, and the log length at each acknowledgement. */
interface Left {
  readonly path: string
  readonly file: Buffer
  readonly log: Buffer
  readonly acknowledged: readonly { readonly id: string; readonly messageId: string; readonly logBytes: number }[]
}

/** Takes and applies deliveries, and copies the files before a checkpoint. */
async function leaveLog(): Promise<Left> {
  const place = newSqlite()
  onTestFinished(place.remove)
  const { path } = place.config
  await copyMigrated(path)
  await begin(place.config)
  const db = await openAgain(place.config)
  const log = `${path}-wal`
  // A reader keeps the log from being reset and its later frames from being copied.
  const reader = new Database(path, { readonly: true })
  reader.exec('begin; select * from sync_counters')
  const file = readFileSync(path)
  const abort = new AbortController()
  const working = new Worker({ db, clock: systemClock, log: silentLog, observer: silentObserver, restMs: () => 0 }).run(abort.signal)
  const acknowledged: Left['acknowledged'][number][] = []
  for (let n = 1; n <= DELIVERIES; n++) {
    const id = `msg_${n}`
    const message = wireMessage(n) as { readonly id: string }
    const body = Buffer.from(JSON.stringify({ type: 'submission.message', submission_id: uuid(9, 1), message }))
    const delivery = { account: 'default', deliveryId: id, receivedAt: timeFromMs(Date.now()), headers: {}, body, secret: 1 }
    expect(await new InboxAppender(db).append([delivery])).toEqual([null])
    acknowledged.push({ id, messageId: message.id, logBytes: statSync(log).size })
    await until('it is applied', async () => (await inboxRows(db)).every((row) => row['state'] === 'done'))
    await db.write('test', (tx) =>
      tx.sql
        .updateTable('sync_destinations')
        .set((eb) => ({ cursor: eb.selectFrom('mirror_info').select('last_seq') }))
        .execute(),
    )
  }
  const left = { path, file, log: readFileSync(log), acknowledged }
  abort.abort()
  await working
  reader.close()
  await db.close()
  return left
}

/** Runs a start. Closing the last connection writes all of it to the file. */
async function begin(config: DatabaseConfig): Promise<void> {
  const db = await openAgain(config)
  await checkLogEpoch(db)
  await ensureAccounts(db, ['default'])
  await ensureDestinations(db, [{ name: 'ams', start: 'now' }])
  await db.close()
}

function putBack({ path, file }: Left, log: Buffer): void {
  rmSync(`${path}-shm`, { force: true })
  writeFileSync(path, file)
  writeFileSync(`${path}-wal`, log)
}

function commits(log: Buffer): number[] {
  const ends: number[] = []
  for (let at = LOG_HEAD; at + FRAME_HEAD + PAGE <= log.length; at += FRAME_HEAD + PAGE) {
    // Only the last frame of a transaction has the database size.
    if (log.readUInt32BE(at + 4) > 0) ends.push(at + FRAME_HEAD + PAGE)
  }
  return ends
}

function contentOf(path: string): string {
  const database = new Database(path)
  const names = database.prepare(`select name from sqlite_master where type = 'table' order by name`).pluck().all() as string[]
  const rows = names.map((name) => database.prepare(`select * from "${name}"`).all())
  database.close()
  return JSON.stringify(rows)
}

/** Opens the files with the product and checks them. @param whole intact bytes of the log. */
async function expectWhole(left: Left, whole: number): Promise<void> {
  const config = { kind: 'sqlite', path: left.path } as const
  const db = await openAgain(config)
  try {
    expect(await checkLogEpoch(db)).toBeNull()
    await expectAgreement(db, left, whole)
  } finally {
    await db.close()
  }
}

async function expectAgreement(db: Db, left: Left, whole: number): Promise<void> {
  const states = new Map((await inboxRows(db)).map((row) => [row['delivery_id'], row['state']]))
  const synced = left.acknowledged.filter(({ logBytes }) => logBytes <= whole)
  expect(synced.filter(({ id }) => !states.has(id))).toEqual([])
  // Inbox mark, mirror and log are committed together.
  const applied = left.acknowledged.filter(({ id }) => states.get(id) === 'done').map(({ messageId }) => messageId)
  expect([...(await recordIds(db, 'default'))].sort()).toEqual(applied.sort())
  expect(await logFaults(db)).toEqual([])
  const destination = await db.read.sql.selectFrom('sync_destinations').select('cursor').executeTakeFirstOrThrow()
  expect(destination.cursor).toBeLessThanOrEqual(await lastAssignedSeq(db.read))
}

it('a log that ends or is damaged at any sector keeps whole transactions, and all earlier ones', {
  timeout: 400_000,
}, async () => {
  const left = await leaveLog()
  const ends = [0, ...commits(left.log)]
  const contents = new Map<number, string>()
  for (const end of ends) {
    putBack(left, left.log.subarray(0, end))
    await expectWhole(left, end)
    contents.set(end, contentOf(left.path))
  }
  expect(new Set(contents.values()).size).toBeGreaterThan(DELIVERIES * 2)
  for (let at = 0; at < left.log.length; at += STEP * SECTOR) {
    const end = ends.findLast((one) => one <= at) ?? 0
    const damaged = Buffer.from(left.log)
    for (let byte = at; byte < Math.min(at + SECTOR, damaged.length); byte++) damaged[byte] = (damaged[byte] ?? 0) ^ 0xff
    // Each cut, and a third of the damages.
    for (const log of at % (3 * STEP * SECTOR) === 0 ? [left.log.subarray(0, at), damaged] : [left.log.subarray(0, at)]) {
      putBack(left, log)
      const db = await openAgain({ kind: 'sqlite', path: left.path })
      expect(await checkLogEpoch(db)).toBeNull()
      await db.close()
      expect(contentOf(left.path) === contents.get(end), `sector at ${at}`).toBe(true)
    }
  }
})
