import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { beginLogEpoch, checkLogEpoch, readEpochs } from '../../../src/store/changes/log-epoch.ts'
import type { Db, Tx } from '../../../src/store/engine/db.ts'
import { lockNamed } from '../../../src/store/engine/locks.ts'
import { beginSession, findSession } from '../../../src/store/operators/console-sessions.ts'
import { ensureDestinations } from '../../../src/store/outbox/destinations.ts'
import { destinationOf, fanAll, openedDb, openedDbs, outboxOf, stateOf } from '../../push/outbox.ts'
import { testDatabases } from '../../tools/databases.ts'
import { eventFact, START_MS, stateFact, uuid, wireEvent, wireLane, wireRequirements } from '../../tools/facts.ts'
import { meddled } from '../../tools/meddled.ts'
import { applyAll } from '../../tools/mirror.ts'
import { until } from '../../tools/until.ts'

const ACCOUNT = 'acme'
const SUBMISSION = uuid(9, 1)

async function infoOf(db: Db): Promise<{ log_epoch: string; last_seq: number }> {
  return await db.read.sql.selectFrom('mirror_info').select(['log_epoch', 'last_seq']).executeTakeFirstOrThrow()
}

/** What a restore does to a database: the newest changes are gone with all that they did, and their numbers are free again. */
async function forget(db: Db, afterSeq: number): Promise<void> {
  await db.write('test', async (tx) => {
    for (const table of ['market_events', 'lanes', 'submissions']) await sql`delete from ${sql.table(table)}`.execute(tx.sql)
    await sql`delete from changes where seq > ${afterSeq}`.execute(tx.sql)
    await sql`update mirror_info set last_seq = ${afterSeq}`.execute(tx.sql)
  })
}

/** @returns when the epoch was begun. */
async function beginRestored(db: Db): Promise<{ began_at: string }> {
  await beginLogEpoch(db, 'restore')
  return db.read.sql.selectFrom('sync_log_epochs').select('began_at').where('reason', '=', 'restore').executeTakeFirstOrThrow()
}

describe.each(testDatabases)('the log epoch on $name', ({ name, open }) => {
  it('is taken over at the first start, and goes on at every later one', async () => {
    const db = await openedDb(open)
    const { log_epoch } = await infoOf(db)
    expect(await checkLogEpoch(db)).toBeNull()
    await applyAll(db, [eventFact(ACCOUNT, SUBMISSION, wireEvent(1))])
    expect(await checkLogEpoch(db)).toBeNull()
    expect((await infoOf(db)).log_epoch).toBe(log_epoch)
    expect((await readEpochs(db.read))(1)).toEqual({ logEpoch: log_epoch, restoredAt: null, isRecovering: false })
  })

  it('is a new one in a copy, which is noticed once, by whichever process starts first', async () => {
    const db = await openedDb(open)
    await checkLogEpoch(db)
    await applyAll(db, [eventFact(ACCOUNT, SUBMISSION, wireEvent(1))])
    const { log_epoch, last_seq } = await infoOf(db)
    await db.write('test', (tx) => sql`update sync_log_epochs set origin = 'elsewhere'`.execute(tx.sql))
    const found = await Promise.all([checkLogEpoch(db), checkLogEpoch(db)])
    expect(found.filter((each) => each !== null)).toEqual([
      { logEpoch: expect.any(String), afterSeq: last_seq, reason: 'copy', knownSeq: null },
    ])
    const epochOf = await readEpochs(db.read)
    expect(epochOf(last_seq).logEpoch).toBe(log_epoch)
    expect(epochOf(last_seq + 1)).toEqual({ logEpoch: (await infoOf(db)).log_epoch, restoredAt: expect.any(String), isRecovering: true })
    expect((await infoOf(db)).log_epoch).not.toBe(log_epoch)
  })

  it('that somebody has named by hand is taken over as a new one', async () => {
    const db = await openedDb(open)
    await checkLogEpoch(db)
    await applyAll(db, [eventFact(ACCOUNT, SUBMISSION, wireEvent(1))])
    await db.write('test', (tx) => sql`update mirror_info set log_epoch = 'by hand'`.execute(tx.sql))
    expect(await checkLogEpoch(db)).toMatchObject({ logEpoch: 'by hand', reason: 'command' })
    expect(await checkLogEpoch(db)).toBeNull()
  })

  // On SQLite one transaction waits for the other anyway.
  const itOnPostgres = name === 'postgres' ? it : () => undefined
  itOnPostgres('that was named by hand begins behind what is fanned out and logged meanwhile', async () => {
    const [db, other] = (await openedDbs(open, 2)) as [Db, Db]
    await checkLogEpoch(db)
    await applyAll(db, [eventFact(ACCOUNT, SUBMISSION, wireEvent(1))])
    await db.write('test', (tx) => sql`update mirror_info set log_epoch = 'by hand'`.execute(tx.sql))
    const { last_seq } = await infoOf(db)
    let settled: ReturnType<typeof checkLogEpoch> | undefined
    await other.write('test', async (tx) => {
      await lockNamed(tx, 'fan-out')
      settled = checkLogEpoch(db)
      const waiting = sql`select 1 from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`
      await until('it waits for the lock', async () => (await waiting.execute(tx.sql)).rows.length > 0)
      await sql`update mirror_info set last_seq = last_seq + 1`.execute(tx.sql)
    })
    expect(await settled).toEqual({ logEpoch: 'by hand', afterSeq: last_seq + 1, reason: 'command', knownSeq: null })
  })

  itOnPostgres('is begun in whatever time it takes, for all that waits to be sent is marked', async () => {
    const db = await openedDb(open)
    const limits: unknown[] = []
    const write: Db['write'] = (name, work, options) => {
      const looking = async (tx: Tx) => {
        limits.push((await sql<{ most: string }>`select current_setting('statement_timeout') as most`.execute(tx.sql)).rows[0]?.most)
        return work(tx)
      }
      return db.write(name, looking, options)
    }
    const looked: Db = { ...meddled(db, (_, go) => go()), write }
    await checkLogEpoch(looked)
    await beginLogEpoch(looked, 'command')
    expect(limits).toEqual(['0', '0'])
  })

  it('is a new one when somebody has deleted the row of mirror_info, and no number comes twice', async () => {
    const db = await openedDb(open)
    const ams = destinationOf('ams')
    await checkLogEpoch(db)
    await applyAll(db, [eventFact(ACCOUNT, SUBMISSION, wireEvent(1))])
    await fanAll(db, [ams])
    const before = await db.read.sql.selectFrom('mirror_info').selectAll().executeTakeFirstOrThrow()
    await db.write('test', async (tx) => {
      await sql`delete from changes where seq in (1, ${before.last_seq})`.execute(tx.sql)
      await sql`delete from mirror_info`.execute(tx.sql)
    })
    const found = await Promise.all([checkLogEpoch(db), checkLogEpoch(db)])
    expect(found.filter((each) => each !== null)).toEqual([
      { logEpoch: expect.any(String), afterSeq: before.last_seq, reason: 'command', knownSeq: null },
    ])
    const { log_epoch, ...rest } = await db.read.sql.selectFrom('mirror_info').selectAll().executeTakeFirstOrThrow()
    expect(rest).toEqual({ id: 1, schema_version: before.schema_version, first_seq: 2, last_seq: before.last_seq })
    expect(log_epoch).not.toBe(before.log_epoch)
    await applyAll(db, [eventFact(ACCOUNT, SUBMISSION, wireEvent(2))])
    expect((await infoOf(db)).last_seq).toBeGreaterThan(before.last_seq)
  })

  it('brings back a destination whose cursor lies behind the end, so that nothing is passed over', async () => {
    const db = await openedDb(open)
    await checkLogEpoch(db)
    const ams = destinationOf('ams')
    await applyAll(db, [eventFact(ACCOUNT, SUBMISSION, wireEvent(1))])
    const { last_seq: restored } = await infoOf(db)
    await ensureDestinations(db, [ams])
    await applyAll(db, [eventFact(ACCOUNT, SUBMISSION, wireEvent(2)), eventFact(ACCOUNT, SUBMISSION, wireEvent(3))])
    await fanAll(db, [ams])
    await forget(db, restored)
    expect((await stateOf(db, 'ams')).cursor).toBeGreaterThan(restored)
    expect(await checkLogEpoch(db)).toMatchObject({ afterSeq: restored, reason: 'lost' })
    const { cursor, log_epoch } = await stateOf(db, 'ams')
    expect([cursor, log_epoch]).toEqual([restored, (await infoOf(db)).log_epoch])
    await applyAll(db, [eventFact(ACCOUNT, SUBMISSION, wireEvent(2))])
    await fanAll(db, [ams])
    const sent = (await outboxOf(db, 'ams')).map((row) => row.seq)
    const again = Array.from({ length: (await infoOf(db)).last_seq - restored }, (_, n) => restored + 1 + n)
    expect(sent.slice(-again.length)).toEqual(again)
  })

  it('gives numbers that come again other message ids, and those of before the ids that they had', async () => {
    const db = await openedDb(open)
    await checkLogEpoch(db)
    await applyAll(db, [stateFact(ACCOUNT, SUBMISSION, wireRequirements(SUBMISSION, [wireLane(1)]), 1)])
    const { last_seq: restored } = await infoOf(db)
    await applyAll(db, [stateFact(ACCOUNT, SUBMISSION, wireRequirements(SUBMISSION, [wireLane(1, { status: 'quoted' })]), 2)])
    const first = destinationOf('first')
    await fanAll(db, [first])
    await db.write('test', async (tx) => {
      await sql`delete from changes where seq > ${restored}`.execute(tx.sql)
      await sql`update mirror_info set last_seq = ${restored}`.execute(tx.sql)
    })
    await beginLogEpoch(db, 'restore')
    await applyAll(db, [stateFact(ACCOUNT, SUBMISSION, wireRequirements(SUBMISSION, [wireLane(1, { status: 'declined' })]), 3)])
    await fanAll(db, [destinationOf('second')])
    const before = new Map((await outboxOf(db, 'first')).map((row) => [row.seq, row.message_id]))
    const after = await outboxOf(db, 'second')
    expect(after.length).toBeGreaterThan(restored)
    for (const row of after) expect(row.message_id === before.get(row.seq), `seq ${row.seq}`).toBe(row.seq <= restored)
  })

  it('ends all sign-ins to the console: a sign-out may be lost', async () => {
    const db = await openedDb(open)
    await checkLogEpoch(db)
    const limits = { idleMs: 60_000, maxMs: 60_000 }
    await beginSession(db, { session_hash: 'hash', who: 'ann', token_proof: 'proof', token_tag: 'ab12', oidc: null }, limits)
    expect(await findSession(db.read, 'hash', limits)).not.toBeNull()
    await beginLogEpoch(db, 'restore')
    expect(await findSession(db.read, 'hash', limits)).toBeNull()
  })

  it('marks what was logged but not queued when the backup was made, unless the destination is first seen after it', async () => {
    const db = await openedDb(open)
    await checkLogEpoch(db)
    const [ams, snapshot] = [destinationOf('ams'), destinationOf('snapshot', { start: 'snapshot' })]
    await ensureDestinations(db, [ams])
    await applyAll(db, [
      eventFact(ACCOUNT, SUBMISSION, wireEvent(1)),
      stateFact(ACCOUNT, SUBMISSION, wireRequirements(SUBMISSION, [wireLane(1)]), 1),
    ])
    await ensureDestinations(db, [snapshot])
    const { last_seq: restored } = await infoOf(db)
    const { began_at: began } = await beginRestored(db)
    const later = new Date(Date.parse(began) + 60_000).toISOString()
    await applyAll(db, [eventFact(ACCOUNT, SUBMISSION, wireEvent(2, { occurred_at: later }))])
    await fanAll(db, [ams, snapshot, destinationOf('later')])
    const marked = async (destination: string) => (await outboxOf(db, destination)).map((row) => [row.seq <= restored, row.uncertain])
    const fromLog = await marked('ams')
    expect(fromLog.length).toBeGreaterThan(restored)
    for (const [isOld, uncertain] of fromLog) expect(uncertain).toBe(isOld ? 1 : 0)
    for (const [, uncertain] of await marked('later')) expect(uncertain).toBe(0)
    // Its events and messages bear the ids that they had; lanes, quotes and the like get new ones.
    const rows = (await outboxOf(db, 'snapshot')).filter((row) => row.snapshot !== null)
    expect(rows.length).toBeGreaterThan(2)
    for (const row of rows) expect([row.entity, row.uncertain]).toEqual([row.entity, row.entity_id.includes(uuid(1, 1)) ? 1 : 0])
  })

  it('marks what may have been sent by the database that was lost', async () => {
    const clock = new ManualClock(START_MS + 100 * 60_000)
    const db = await openedDb(open, clock)
    await checkLogEpoch(db)
    const ams = destinationOf('ams')
    await applyAll(db, [eventFact(ACCOUNT, SUBMISSION, wireEvent(1))])
    await fanAll(db, [ams])
    const { last_seq: restored } = await infoOf(db)
    const { began_at: began } = await beginRestored(db)
    const later = new Date(Date.parse(began) + 60_000).toISOString()
    await applyAll(db, [eventFact(ACCOUNT, SUBMISSION, wireEvent(2)), eventFact(ACCOUNT, SUBMISSION, wireEvent(3, { occurred_at: later }))])
    await fanAll(db, [ams])
    const rows = await outboxOf(db, 'ams')
    expect(rows.filter((row) => row.seq <= restored).map((row) => row.uncertain)).toEqual(Array(restored).fill(1))
    const events = rows.filter((row) => row.seq > restored && row.entity === 'market_events')
    expect(events.map((row) => [row.entity_id.includes(uuid(1, 2)), row.uncertain])).toEqual([
      [true, 1],
      [false, 0],
    ])
  })
})
