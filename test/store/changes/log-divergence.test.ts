import { copyFileSync, renameSync } from 'node:fs'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { readKinds } from '../../../src/model/reads.ts'
import { readVerdict } from '../../../src/ops/status/status.ts'
import { ReadAllAgain } from '../../../src/poll/full-read-all.ts'
import { currentBreak } from '../../../src/store/changes/log-divergence.ts'
import { checkLogEpoch } from '../../../src/store/changes/log-epoch.ts'
import { MarkKeeper } from '../../../src/store/changes/mark-file.ts'
import { LogMovedError } from '../../../src/store/engine/checked-server.ts'
import type { DatabaseConfig, Db } from '../../../src/store/engine/db.ts'
import { dbTime } from '../../../src/store/engine/sql.ts'
import { destinationOf, fanAll, outboxOf } from '../../push/outbox.ts'
import { openAgain, runSql, silentLog, sqliteDatabase, testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedEvent, observedState, uuid, wireEvent, wireLane, wireRequirements } from '../../tools/observations.ts'
import { policy } from '../../tools/poller.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const ACCOUNT = 'acme'
const SUBMISSION = uuid(9, 1)
const never = new AbortController().signal
const event = (n: number) => observedEvent(ACCOUNT, SUBMISSION, wireEvent(n))

async function endOf(db: Db): Promise<{ log_epoch: string; last_seq: number }> {
  return db.read.sql.selectFrom('mirror_info').select(['log_epoch', 'last_seq']).executeTakeFirstOrThrow()
}

/** Takes the log back to an earlier end, like a restored server or volume. */
async function goBack(db: Db, afterSeq: number): Promise<void> {
  await db.write('test', async (tx) => {
    await tx.run(sql`delete from market_events where event_id <> ${uuid(1, 1)}`)
    await tx.run(sql`delete from changes where seq > ${afterSeq}`)
    await tx.run(sql`update mirror_info set last_seq = ${afterSeq}`)
  })
}

describe.each(testDatabases)('a database that was put back, on $name', ({ open }) => {
  async function opened(): Promise<{ db: Db; config: DatabaseConfig }> {
    const found = await closedAtEnd(open())
    await checkLogEpoch(found.db)
    return found
  }

  it('gets no change from a process that has seen more, and a new epoch after the common changes', async () => {
    const { db } = await opened()
    await applyAll(db, [event(1)])
    const { last_seq: common } = await endOf(db)
    await applyAll(db, [event(2)])
    const { last_seq: lost } = await endOf(db)
    await goBack(db, common)
    await expect(applyAll(db, [event(3)])).rejects.toThrow(LogMovedError)
    expect(await checkLogEpoch(db)).toMatchObject({ reason: 'lost', afterSeq: common, knownSeq: lost })
    expect(await checkLogEpoch(db)).toBeNull()
    await applyAll(db, [event(3)])
    const epochs = await db.read.all(sql`select after_seq, known_seq, reason from log_epochs order by epoch_no`)
    expect(epochs).toEqual([
      { after_seq: 0, known_seq: null, reason: 'first' },
      { after_seq: common, known_seq: lost, reason: 'lost' },
    ])
    const audited = await db.read.sql.selectFrom('operator_actions').select(['action', 'detail']).execute()
    expect(audited).toMatchObject([{ action: 'log.divergence', detail: { submissions: 1, named: [[ACCOUNT, SUBMISSION]] } }])
  })

  it('that continued with the same numbers is distinguished by its changes', async () => {
    const { db } = await opened()
    await applyAll(db, [event(1)])
    const { last_seq: common } = await endOf(db)
    await applyAll(db, [event(2)])
    await goBack(db, common)
    // A process that has not seen them appends other changes.
    await runSql(
      db,
      sql`insert into changes (seq, account, submission_id, entity, entity_id, operation, changed_at, cause, before, after)
        select seq + ${common}, account, submission_id, entity, entity_id, operation, changed_at, 'poll', before, after from changes`,
    )
    expect((await checkLogEpoch(db))?.afterSeq).toBe(common)
  })

  it('has all feeds re-read, and is reported until then', async () => {
    const { db } = await opened()
    await applyAll(db, [event(1)])
    const long = '2026-01-01T00:00:00.000000Z'
    await runSql(
      db,
      sql`update sync_reads set last_full_read_at = ${long}, last_read_at = ${long}, active_at = ${long}, full_read_due_at = '2999-01-01T00:00:00.000000Z',
        due_at = '2999-01-01T00:00:00.000000Z'`,
    )
    const replays = new ReadAllAgain(db, silentLog, [ACCOUNT])
    await replays.look(never)
    expect(await currentBreak(db.read)).toBeNull()
    await runSql(db, sql`update sync_log_epochs set origin = 'copy'`)
    await checkLogEpoch(db)
    expect(await currentBreak(db.read)).not.toBeNull()
    // The alarm fires before any process evaluates alarms.
    const { verdict, issues } = await readVerdict(db, { accounts: [], destinations: [], poll: policy.poll, documents: { mode: 'off' } })
    expect([verdict, issues.map(({ what }) => what)]).toEqual([
      'attention',
      [expect.stringContaining('every submission is being re-read in full')],
    ])
    await replays.look(never)
    const row = await db.read.one(sql<{ n: number }>`
      select count(*) as n from sync_reads where due_at < ${dbTime(db, 60_000)} and full_read_due_at <= ${dbTime(db)}`)
    expect(Number(row?.n)).toBe(readKinds.length)
    await replays.look(never)
    expect(await currentBreak(db.read)).not.toBeNull()
    const later = '2999-01-01T00:00:00.000000Z'
    const update = (set: ReturnType<typeof sql>) => runSql(db, sql`update sync_reads set ${set}`)
    for (const unread of [
      sql`failures = 1`,
      sql`last_full_read_at = ${later}`,
      sql`last_read_at = ${later}, last_full_read_at = ${long}`,
    ]) {
      await update(unread)
      await replays.look(never)
      expect(await currentBreak(db.read)).not.toBeNull()
    }
    await update(sql`last_full_read_at = ${later}`)
    await replays.look(never)
    expect(await currentBreak(db.read)).toBeNull()
  })

  it('sends the current state of submissions in the lost log again, under new ids', async () => {
    const { db } = await opened()
    const ams = destinationOf('ams')
    const state = (status: string, no: number) =>
      observedState(ACCOUNT, SUBMISSION, wireRequirements(SUBMISSION, [wireLane(1, { status })]), no)
    await applyAll(db, [state('open', 1)])
    await fanAll(db, [ams])
    const { last_seq: common } = await endOf(db)
    const lane = () => sql`update lanes set status = 'open'`
    // The lost log had another status, and the service has changed back since, so that no later change corrects it.
    await applyAll(db, [state('quoted', 2)])
    await db.write('test', async (tx) => {
      await tx.run(lane())
      await tx.run(sql`delete from changes where seq > ${common}`)
      await tx.run(sql`update mirror_info set last_seq = ${common}`)
    })
    await checkLogEpoch(db)
    const before = await outboxOf(db, 'ams')
    await fanAll(db, [ams])
    expect(await outboxOf(db, 'ams')).toHaveLength(before.length)
    await runSql(
      db,
      sql`update sync_reads set last_full_read_at = '2999-01-01T00:00:00.000000Z', last_read_at = '2999-01-01T00:00:00.000000Z'`,
    )
    await runSql(db, sql`update submissions set tracked_at = '2020-01-01T00:00:00.000000Z'`)
    await fanAll(db, [ams])
    const again = (await outboxOf(db, 'ams')).slice(before.length)
    expect(again.filter(({ entity }) => entity === 'lanes')).toMatchObject([{ operation: 'update', cause: 'snapshot' }])
    expect(before.map((row) => row.message_id)).not.toContain(again[0]?.message_id)
    expect(await db.read.sql.selectFrom('sync_restatements').selectAll().execute()).toEqual([])
  })
})

describe('a SQLite file', () => {
  async function served(): Promise<{ path: string; start: (serve?: (db: Db) => Promise<unknown>) => Promise<unknown> }> {
    const found = await closedAtEnd(sqliteDatabase.open())
    await found.db.close()
    const { config } = found
    if (config.kind !== 'sqlite') throw new Error('not SQLite')
    const { path } = config
    const start = async (serve?: (db: Db) => Promise<unknown>) => {
      const db = await openAgain({ ...config, path })
      try {
        const epoch = await checkLogEpoch(db)
        const marks = new MarkKeeper(db)
        await marks.keep()
        await serve?.(db)
        await marks.keep()
        return epoch
      } finally {
        await db.close()
      }
    }
    await start((db) => applyAll(db, [event(1)]))
    return { path, start }
  }

  it('continues after restarts, and after it was moved with its mark file', async () => {
    const { path, start } = await served()
    expect(await start((db) => applyAll(db, [event(2)]))).toBeNull()
    renameSync(path, `${path}.moved`)
    renameSync(`${path}.moved`, path)
    expect(await start()).toBeNull()
  })

  it('that is a copy begins a new epoch', async () => {
    const { path, start } = await served()
    copyFileSync(path, `${path}.copy`)
    renameSync(`${path}.copy`, path)
    expect(await start()).toMatchObject({ reason: 'copy' })
  })

  it('whose older content was written back begins one behind it, and knows how much is lost', async () => {
    const { path, start } = await served()
    copyFileSync(path, `${path}.copy`)
    let lost = 0
    await start(async (db) => {
      await applyAll(db, [event(2)])
      lost = (await endOf(db)).last_seq
    })
    copyFileSync(`${path}.copy`, path)
    expect(await start()).toMatchObject({ reason: 'lost', knownSeq: lost })
    expect(await start()).toBeNull()
  })

  it('whose content from before the last start was written back begins one, though no number is missing', async () => {
    const { path, start } = await served()
    copyFileSync(path, `${path}.copy`)
    await start()
    copyFileSync(`${path}.copy`, path)
    expect(await start()).toMatchObject({ reason: 'copy' })
    expect(await start()).toBeNull()
  })
})
