import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { beginLogEpoch, checkLogEpoch, readEpochs } from '../../../src/store/changes/log-epoch.ts'
import type { Db, Tx } from '../../../src/store/engine/db.ts'
import { lockNamed } from '../../../src/store/engine/locks.ts'
import { beginSession, findSession } from '../../../src/store/operators/console-sessions.ts'
import { ensureDestinations } from '../../../src/store/outbox/destinations.ts'
import { destinationOf, fanAll, openedDb, openedDbs, outboxOf, stateOf } from '../../push/outbox.ts'
import { runSql, testDatabases } from '../../tools/databases.ts'
import { meddled } from '../../tools/meddled.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedEvent, observedState, START_MS, uuid, wireEvent, wireLane, wireRequirements } from '../../tools/observations.ts'
import { until } from '../../tools/until.ts'

const ACCOUNT = 'acme'
const SUBMISSION = uuid(9, 1)

async function infoOf(db: Db): Promise<{ log_epoch: string; last_seq: number }> {
  return await db.read.sql.selectFrom('mirror_info').select(['log_epoch', 'last_seq']).executeTakeFirstOrThrow()
}

async function forget(db: Db, afterSeq: number): Promise<void> {
  await db.write('test', async (tx) => {
    for (const table of ['market_events', 'lanes', 'submissions']) await tx.run(sql`delete from ${sql.table(table)}`)
    await tx.run(sql`delete from changes where seq > ${afterSeq}`)
    await tx.run(sql`update mirror_info set last_seq = ${afterSeq}`)
  })
}

async function beginRestored(db: Db): Promise<{ began_at: string }> {
  await beginLogEpoch(db, 'restore')
  return db.read.sql.selectFrom('sync_log_epochs').select('began_at').where('reason', '=', 'restore').executeTakeFirstOrThrow()
}

describe.each(testDatabases)('the log epoch on $name', ({ name, open }) => {
  it('is adopted at the first start, and continues at every later one', async () => {
    const db = await openedDb(open)
    const { log_epoch } = await infoOf(db)
    expect(await checkLogEpoch(db)).toBeNull()
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(1))])
    expect(await checkLogEpoch(db)).toBeNull()
    expect((await infoOf(db)).log_epoch).toBe(log_epoch)
    expect((await readEpochs(db.read))(1)).toEqual({ logEpoch: log_epoch, restoredAt: null, isRecovering: false })
  })

  it('is a new one in a copy, begun once, by the first process that starts', async () => {
    const db = await openedDb(open)
    await checkLogEpoch(db)
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(1))])
    const { log_epoch, last_seq } = await infoOf(db)
    await runSql(db, sql`update sync_log_epochs set origin = 'elsewhere'`)
    const found = await Promise.all([checkLogEpoch(db), checkLogEpoch(db)])
    expect(found.filter((each) => each !== null)).toEqual([
      { logEpoch: expect.any(String), afterSeq: last_seq, reason: 'copy', knownSeq: null },
    ])
    const epochOf = await readEpochs(db.read)
    expect(epochOf(last_seq).logEpoch).toBe(log_epoch)
    expect(epochOf(last_seq + 1)).toEqual({ logEpoch: (await infoOf(db)).log_epoch, restoredAt: expect.any(String), isRecovering: true })
    expect((await infoOf(db)).log_epoch).not.toBe(log_epoch)
  })

  it('that was set by hand is adopted as a new one', async () => {
    const db = await openedDb(open)
    await checkLogEpoch(db)
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(1))])
    await runSql(db, sql`update mirror_info set log_epoch = 'by hand'`)
    expect(await checkLogEpoch(db)).toMatchObject({ logEpoch: 'by hand', reason: 'command' })
    expect(await checkLogEpoch(db)).toBeNull()
  })

  const itOnPostgres = name === 'postgres' ? it : () => undefined
  itOnPostgres('that was set by hand begins after what is logged in between', async () => {
    const [db, other] = (await openedDbs(open, 2)) as [Db, Db]
    await checkLogEpoch(db)
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(1))])
    await runSql(db, sql`update mirror_info set log_epoch = 'by hand'`)
    const { last_seq } = await infoOf(db)
    let settled: ReturnType<typeof checkLogEpoch> | undefined
    await other.write('test', async (tx) => {
      await lockNamed(tx, 'fan-out')
      settled = checkLogEpoch(db)
      const waiting = sql`select 1 from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`
      await until('it waits for the lock', async () => (await tx.one(waiting)) !== null)
      await tx.run(sql`update mirror_info set last_seq = last_seq + 1`)
    })
    expect(await settled).toEqual({ logEpoch: 'by hand', afterSeq: last_seq + 1, reason: 'command', knownSeq: null })
  })

  itOnPostgres('begins without a time limit, because all waiting pushes are marked', async () => {
    const db = await openedDb(open)
    const limits: unknown[] = []
    const write: Db['write'] = (name, work, options) => {
      const looking = async (tx: Tx) => {
        limits.push((await tx.one(sql<{ most: string }>`select current_setting('statement_timeout') as most`))?.most)
        return work(tx)
      }
      return db.write(name, looking, options)
    }
    const looked: Db = { ...meddled(db, (_, go) => go()), write }
    await checkLogEpoch(looked)
    await beginLogEpoch(looked, 'command')
    expect(limits).toEqual(['0', '0'])
  })

  it('is a new one when the row of mirror_info was deleted, and no number is assigned twice', async () => {
    const db = await openedDb(open)
    const ams = destinationOf('ams')
    await checkLogEpoch(db)
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(1))])
    await fanAll(db, [ams])
    const before = await db.read.sql.selectFrom('mirror_info').selectAll().executeTakeFirstOrThrow()
    await db.write('test', async (tx) => {
      await tx.run(sql`delete from changes where seq in (1, ${before.last_seq})`)
      await tx.run(sql`delete from mirror_info`)
    })
    const found = await Promise.all([checkLogEpoch(db), checkLogEpoch(db)])
    expect(found.filter((each) => each !== null)).toEqual([
      { logEpoch: expect.any(String), afterSeq: before.last_seq, reason: 'command', knownSeq: null },
    ])
    const { log_epoch, ...rest } = await db.read.sql.selectFrom('mirror_info').selectAll().executeTakeFirstOrThrow()
    expect(rest).toEqual({ id: 1, schema_version: before.schema_version, first_seq: 2, last_seq: before.last_seq })
    expect(log_epoch).not.toBe(before.log_epoch)
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(2))])
    expect((await infoOf(db)).last_seq).toBeGreaterThan(before.last_seq)
  })

  it('moves back a destination whose cursor is after the end, so that no change is skipped', async () => {
    const db = await openedDb(open)
    await checkLogEpoch(db)
    const ams = destinationOf('ams')
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(1))])
    const { last_seq: restored } = await infoOf(db)
    await ensureDestinations(db, [ams])
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(2)), observedEvent(ACCOUNT, SUBMISSION, wireEvent(3))])
    await fanAll(db, [ams])
    await forget(db, restored)
    expect((await stateOf(db, 'ams')).cursor).toBeGreaterThan(restored)
    expect(await checkLogEpoch(db)).toMatchObject({ afterSeq: restored, reason: 'lost' })
    const { cursor, log_epoch } = await stateOf(db, 'ams')
    expect([cursor, log_epoch]).toEqual([restored, (await infoOf(db)).log_epoch])
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(2))])
    await fanAll(db, [ams])
    const sent = (await outboxOf(db, 'ams')).map((row) => row.seq)
    const again = Array.from({ length: (await infoOf(db)).last_seq - restored }, (_, n) => restored + 1 + n)
    expect(sent.slice(-again.length)).toEqual(again)
  })

  it('gives repeated numbers new message ids, and earlier numbers the same ids', async () => {
    const db = await openedDb(open)
    await checkLogEpoch(db)
    await applyAll(db, [observedState(ACCOUNT, SUBMISSION, wireRequirements(SUBMISSION, [wireLane(1)]), 1)])
    const { last_seq: restored } = await infoOf(db)
    await applyAll(db, [observedState(ACCOUNT, SUBMISSION, wireRequirements(SUBMISSION, [wireLane(1, { status: 'quoted' })]), 2)])
    const first = destinationOf('first')
    await fanAll(db, [first])
    await db.write('test', async (tx) => {
      await tx.run(sql`delete from changes where seq > ${restored}`)
      await tx.run(sql`update mirror_info set last_seq = ${restored}`)
    })
    await beginLogEpoch(db, 'restore')
    await applyAll(db, [observedState(ACCOUNT, SUBMISSION, wireRequirements(SUBMISSION, [wireLane(1, { status: 'declined' })]), 3)])
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

  it('marks changes that were logged but not queued at the backup, unless the destination is newer', async () => {
    const db = await openedDb(open)
    await checkLogEpoch(db)
    const [ams, snapshot] = [destinationOf('ams'), destinationOf('snapshot', { start: 'snapshot' })]
    await ensureDestinations(db, [ams])
    await applyAll(db, [
      observedEvent(ACCOUNT, SUBMISSION, wireEvent(1)),
      observedState(ACCOUNT, SUBMISSION, wireRequirements(SUBMISSION, [wireLane(1)]), 1),
    ])
    await ensureDestinations(db, [snapshot])
    const { last_seq: restored } = await infoOf(db)
    const { began_at: began } = await beginRestored(db)
    const later = new Date(Date.parse(began) + 60_000).toISOString()
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(2, { occurred_at: later }))])
    await fanAll(db, [ams, snapshot, destinationOf('later')])
    const marked = async (destination: string) => (await outboxOf(db, destination)).map((row) => [row.seq <= restored, row.uncertain])
    const fromLog = await marked('ams')
    expect(fromLog.length).toBeGreaterThan(restored)
    for (const [isOld, uncertain] of fromLog) expect(uncertain).toBe(isOld ? 1 : 0)
    for (const [, uncertain] of await marked('later')) expect(uncertain).toBe(0)
    // Events and messages keep their message ids; lanes, quotes and others get new ones.
    const rows = (await outboxOf(db, 'snapshot')).filter((row) => row.snapshot !== null)
    expect(rows.length).toBeGreaterThan(2)
    for (const row of rows) expect([row.entity, row.uncertain]).toEqual([row.entity, row.entity_id.includes(uuid(1, 1)) ? 1 : 0])
  })

  it('marks rows that the lost database may have sent', async () => {
    const clock = new ManualClock(START_MS + 100 * 60_000)
    const db = await openedDb(open, clock)
    await checkLogEpoch(db)
    const ams = destinationOf('ams')
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(1))])
    await fanAll(db, [ams])
    const { last_seq: restored } = await infoOf(db)
    const { began_at: began } = await beginRestored(db)
    const later = new Date(Date.parse(began) + 60_000).toISOString()
    await applyAll(db, [
      observedEvent(ACCOUNT, SUBMISSION, wireEvent(2)),
      observedEvent(ACCOUNT, SUBMISSION, wireEvent(3, { occurred_at: later })),
    ])
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
