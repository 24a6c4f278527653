import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import { FolderStorage } from '../../../src/documents/storage/folder.ts'
import type { KnownId } from '../../../src/model/known-ids.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import type { ActionContext } from '../../../src/ops/actions/context.ts'
import { purgePreview, purgeSubmissions } from '../../../src/ops/actions/purge.ts'
import { trackSubmissions } from '../../../src/ops/operations/track.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { RejectedStore } from '../../../src/store/inbox/rejected.ts'
import { claimDeliveries, settleDeliveries } from '../../../src/store/inbox/work.ts'
import { MirrorWriter } from '../../../src/store/mirror/writer.ts'
import { ensureDestinations } from '../../../src/store/outbox/destinations.ts'
import { requestRestatements } from '../../../src/store/outbox/restatements.ts'
import { claimStreams, releaseStreams } from '../../../src/store/outbox/work.ts'
import { forgetPurged } from '../../../src/store/reads/purged.ts'
import { insertFindings } from '../../../src/store/reconcile/findings.ts'
import { destinationOf, fanAll, openedDb, openedDbs, outboxOf, streamsIn } from '../../push/outbox.ts'
import { silentLog, testDatabases } from '../../tools/databases.ts'
import { dumpOf } from '../../tools/dump.ts'
import { meddled } from '../../tools/meddled.ts'
import { applyAll, changesOf } from '../../tools/mirror.ts'
import {
  byPoll,
  observedEvent,
  observedMessage,
  observedState,
  uuid,
  wireEvent,
  wireLane,
  wireMessage,
  wireRequirements,
} from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { until } from '../../tools/until.ts'
import { workInbox } from './purged.ts'

const ACCOUNT = 'acme'
const [GONE, KEPT] = [uuid(9, 1), uuid(9, 2)]
const SECRET = 'Whispering Pines'
const NOWHERE = new FolderStorage('/nowhere')

async function fill(db: Db, id: string, text: string, n: number): Promise<void> {
  await applyAll(db, [
    observedEvent(ACCOUNT, id, wireEvent(n, { detail: text }), byPoll),
    observedMessage(ACCOUNT, id, wireMessage(n, { body_text: text }), byPoll),
    observedState(ACCOUNT, id, wireRequirements(id, [wireLane(n, { next_step: text })], { insured_name: text }), 1),
  ])
}

async function deliver(db: Db, deliveryId: string, submissions: readonly string[]): Promise<void> {
  const body = {
    type: 'submission.events',
    text: SECRET,
    submissions: submissions.map((submission_id) => ({ submission_id, events: [wireEvent(7)] })),
  }
  const delivery = { account: ACCOUNT, deliveryId, receivedAt: timeFromMs(Date.now()), headers: {}, secret: 1 }
  await new InboxAppender(db).append([{ ...delivery, body: Buffer.from(JSON.stringify(body)) }])
  await workInbox(db)
}

const purging = (db: Db, over: Partial<ActionContext> = {}): ActionContext => ({
  ...{ db, observer: silentObserver, who: 'ann', signal: new AbortController().signal },
  clock: { ...systemClock, sleep: async () => {} },
  ...over,
})

describe.each(testDatabases)('a purge on $name', ({ open }) => {
  it.each(['snapshot', 'restatement', 'lagging fan-out'])('during a %s leaves only its own pushes queued', async (kind) => {
    const db = await openedDb(open)
    const ams = destinationOf('ams', { start: kind === 'snapshot' ? 'snapshot' : 0 })
    const isLate = kind === 'lagging fan-out'
    await ensureDestinations(db, [ams])
    await fill(db, GONE, SECRET, 1)
    const step = () => fanAll(db, [ams])
    if (kind === 'snapshot') {
      const position = { account: ACCOUNT, submissionId: GONE, entity: 'submissions', key: null }
      const inside = { snapshot: JSON.stringify({ position }) }
      await db.write('test', (tx) => tx.sql.updateTable('sync_destinations').set(inside).execute())
    } else if (!isLate) await step()
    const restated = [{ destination: 'ams', account: ACCOUNT, submission_id: GONE }]
    let transactions = 0
    const meddling = meddled(db, async (name, go) => {
      if (name === 'purge' && ++transactions > 1 && !isLate) {
        if (kind === 'restatement') await db.write('test', (tx) => requestRestatements(tx, restated))
        await step()
      }
      return await go()
    })
    await purgeSubmissions(purging(meddling), ACCOUNT, [GONE], NOWHERE)
    await step()
    const left = await outboxOf(db, 'ams')
    expect(left.length).toBeGreaterThan(2)
    expect(left.filter(({ operation }) => operation !== 'purged')).toEqual([])
    expect(await dumpOf(db)).not.toContain(SECRET)
    if (!isLate) return
    await forgetPurged(db, ACCOUNT, [GONE])
    await db.write('test', (tx) => tx.sql.updateTable('sync_destinations').set({ cursor: 0 }).execute())
    await step()
    expect((await outboxOf(db, 'ams')).filter(({ operation }) => operation !== 'purged')).toEqual([])
  })
  it('waits for a sender that has claimed rows', async () => {
    const db = await openedDb(open)
    const ams = destinationOf('ams')
    await ensureDestinations(db, [ams])
    await fill(db, GONE, SECRET, 1)
    await fanAll(db, [ams])
    const claimed = await claimStreams(db, 'ams', { streams: 10, rowsPerStream: 1, leaseMs: 60_000, uncertain: false })
    expect(claimed.length).toBeGreaterThan(0)
    let waited = 0
    const sleep = async () => {
      if (++waited === 3) await releaseStreams(db, claimed, { clearUncertain: false })
    }
    await purgeSubmissions(purging(db, { clock: { ...systemClock, sleep } }), ACCOUNT, [GONE], NOWHERE)
    expect(waited).toBeGreaterThan(2)
    expect(await outboxOf(db, 'ams')).toEqual([])
  })
  it('removes a submission that another process is adding', async () => {
    const [db, other] = (await openedDbs(open, 2)) as [Db, Db]
    const [added, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const adding = db.write('test-add', async (tx) => {
      const apply = new MirrorWriter(tx)
      const time = timeFromMs(Date.now())
      await apply.lockSubmissions([{ account: ACCOUNT, submission_id: GONE }], time, () => 'webhook')
      added.resolve()
      await held.promise
      await apply.finish()
    })
    await added.promise
    const purged = purgeSubmissions(purging(other), ACCOUNT, [GONE], NOWHERE)
    const isWaiting = sql<{ n: number }>`
      select count(*) as n from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`
    const marked = () => db.read.sql.selectFrom('sync_purged').select('submission_id').execute()
    await until('the purge waits, or goes on', async () => {
      return db.kind === 'sqlite' || Number((await db.read.one(isWaiting))?.n) > 0 || (await marked()).length > 0
    })
    held.resolve()
    await Promise.all([adding, purged])
    expect(await db.read.sql.selectFrom('submissions').select('submission_id').execute()).toEqual([])
    expect(await marked()).toHaveLength(1)
  })
  it('removes every value, logs each row, and keeps the submission out until it is tracked again', async () => {
    const { db } = await closedAtEnd(open())
    const a = purging(db)
    await fill(db, GONE, SECRET, 1)
    await fill(db, KEPT, 'Another Insured', 2)
    await deliver(db, 'both', [GONE, KEPT])
    const before = await changesOf(db)

    expect(await purgePreview(a, ACCOUNT, [GONE])).toEqual({ submissions: [GONE], unknown: [] })
    expect(await dumpOf(db)).toContain(SECRET)
    expect(await purgeSubmissions(a, ACCOUNT, [GONE], NOWHERE)).toMatchObject({ submissions: [GONE] })
    expect(await dumpOf(db)).not.toContain(SECRET)
    expect(await dumpOf(db)).toContain('Another Insured')

    const after = await changesOf(db)
    expect(after.map(({ seq }) => seq)).toEqual(after.map((_, index) => index + 1))
    const purged = after.slice(before.length)
    const rows = new Set(
      before.filter(({ submission_id }) => submission_id === GONE).map(({ entity, entity_id }) => `${entity} ${entity_id}`),
    )
    expect(new Set(purged.map(({ entity, entity_id }) => `${entity} ${entity_id}`))).toEqual(rows)
    expect(
      purged.every(({ operation, before, after }) => operation === 'purged' && before === null && JSON.stringify(after) === '{}'),
    ).toBe(true)

    await deliver(db, 'later', [GONE])
    await fill(db, GONE, SECRET, 3)
    // An insured's answer names all its submissions.
    const ids: KnownId[] = [{ kind: 'document', id: uuid(4, 1), submissionId: GONE }]
    await applyAll(db, [{ kind: 'named', account: ACCOUNT, submissionId: KEPT, cause: 'poll', ids, via: 'insured' }])
    expect(await dumpOf(db)).not.toContain(SECRET)
    expect(await changesOf(db)).toHaveLength(after.length)
    expect(await trackSubmissions(a, ACCOUNT, [GONE], false)).toEqual({ added: 0, known: 0, purged: 1 })
    expect(await trackSubmissions(a, ACCOUNT, [GONE], true)).toEqual({ added: 1, known: 0, purged: 0 })
    await fill(db, GONE, SECRET, 4)
    expect(await dumpOf(db)).toContain(SECRET)
  })
  it.each(['dead', 'aside'] as const)(
    'empties rejected deliveries that name it and deliveries that become %s later, and drops later findings',
    async (state) => {
      const db = await openedDb(open)
      const body = Buffer.from(JSON.stringify({ type: 'new', text: SECRET, about: [GONE.toUpperCase()] }))
      const receivedAt = timeFromMs(Date.now())
      await new InboxAppender(db).append([{ account: ACCOUNT, deliveryId: 'late', receivedAt, headers: {}, secret: 1, body }])
      const store = new RejectedStore(db, silentLog)
      store.keep({ account: ACCOUNT, path: '/', receivedAt, address: '127.0.0.1', reason: 'no_match', headers: {}, body })
      await store.settled()
      const [delivery] = await claimDeliveries(db, 1, 60_000)
      if (!delivery) throw new Error('nothing is claimed')
      await purgeSubmissions(purging(db), ACCOUNT, [GONE], NOWHERE)
      expect(await store.list({})).toMatchObject([{ body_bytes: null }])
      const about = { entity: 'lanes', entity_id: null, kind: 'different', fields: null, read: null, destination: null, seq: null } as const
      const finding = { ...about, run_id: 'r', finding_no: 1, account: ACCOUNT, submission_id: GONE, detail: SECRET, known: false }
      await db.write('test', (tx) => insertFindings(tx, [{ ...finding, repaired_at: null, found_at: receivedAt }]))
      expect(await db.read.sql.selectFrom('reconcile_findings').selectAll().execute()).toEqual([])
      const settlement = { delivery, state, submissionId: null, kind: null, error: 'unread', what: SECRET }
      await db.write('test', (tx) => settleDeliveries(tx, [settlement]))
      expect(await db.read.sql.selectFrom('sync_inbox').select(['state', 'body', 'headers', 'what']).execute()).toEqual([
        { state, body: null, headers: '{}', what: null },
      ])
    },
  )
  it('is completed by the next purge if interrupted', async () => {
    const { db } = await closedAtEnd(open())
    for (const [n, id] of [GONE, KEPT].entries()) await fill(db, id, SECRET, n + 1)
    await deliver(db, 'both', [GONE, KEPT])
    const stopping = new AbortController()
    const marks = () => db.read.sql.selectFrom('sync_purged').select('finished_at').execute()
    const sleep = async () => {
      if ((await marks()).length === 2) stopping.abort()
    }
    const first = purging(db, { clock: { ...systemClock, sleep }, signal: stopping.signal })
    await expect(purgeSubmissions(first, ACCOUNT, [GONE, KEPT], NOWHERE)).rejects.toThrow(/abort/)
    expect(await dumpOf(db)).toContain(SECRET)
    const second = purging(db)
    expect(await purgePreview(second, ACCOUNT, [])).toEqual({ submissions: [GONE, KEPT], unknown: [] })
    expect(await purgeSubmissions(second, ACCOUNT, [], NOWHERE)).toMatchObject({ submissions: [GONE, KEPT] })
    expect(await dumpOf(db)).not.toContain(SECRET)
    expect((await marks()).map(({ finished_at }) => finished_at !== null)).toEqual([true, true])
    expect(await purgePreview(second, ACCOUNT, [])).toEqual({ submissions: [], unknown: [] })
  })
  it('closes streams without rows, and releases streams that a purged change held', async () => {
    const db = await openedDb(open)
    const ams = destinationOf('ams', { operations: ['insert', 'update'] })
    const all = destinationOf('all')
    await ensureDestinations(db, [ams, all])
    await fill(db, GONE, SECRET, 1)
    await fanAll(db, [ams, all])
    const [dead] = await outboxOf(db, 'all')
    const streams = () => streamsIn(db)
    expect((await streams()).length).toBeGreaterThan(1)
    await db.write('test', async (tx) => {
      await tx.run(sql`update sync_outbox set state = 'dead' where outbox_id = ${dead?.outbox_id}`)
      await tx.run(sql`update sync_push_streams set blocked = 'held', held_by = ${dead?.outbox_id} where destination = 'all'`)
    })
    await purgeSubmissions(purging(db), ACCOUNT, [GONE], NOWHERE)
    expect(await streams()).toEqual([])
    await fanAll(db, [ams, all])
    expect(await streams()).toMatchObject([{ destination: 'all', blocked: null, held_by: null }])
  })
})
