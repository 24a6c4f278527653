import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insureds } from '../../../src/model/entities/insureds.ts'
import type { Row } from '../../../src/model/entity.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { countTooLong, documentMetadata, findDocuments, listDocuments, storedPathsOf } from '../../../src/store/mirror/documents.ts'
import { listOpenWork, openItemsOf, quotesOf } from '../../../src/store/mirror/open-work.ts'
import { findRow, publicTables } from '../../../src/store/mirror/public-rows.ts'
import { beginPurge, endPurge, goneBefore, purgeBodies, purgeChanges, purgeRows } from '../../../src/store/mirror/purge.ts'
import { newestOf } from '../../../src/store/mirror/reader.ts'
import { recordText, recordTimes } from '../../../src/store/mirror/record-times.ts'
import { findDeliveriesFor, findPushesFor } from '../../../src/store/mirror/search.ts'
import { listUnmapped } from '../../../src/store/mirror/submission-search.ts'
import {
  knownSubmissions,
  newestSubmission,
  someKnownId,
  unreachableSince,
  wasUnreachable,
  withInsured,
} from '../../../src/store/mirror/submissions.ts'
import {
  arrivalsOf,
  attachmentsOf,
  changesBefore,
  eventsBefore,
  messagesBefore,
  pushesBefore,
  pushesOf,
  timelineKinds,
} from '../../../src/store/mirror/timeline.ts'
import { clientsOf, extraReadsOf, freshnessOf, reachedOf, wholeSubmission } from '../../../src/store/mirror/whole-submission.ts'
import { purgePushes } from '../../../src/store/outbox/purge.ts'
import { storeMappings } from '../../../src/store/outbox/push-map.ts'
import { submissionIdsAfter } from '../../../src/store/reads/account-reads.ts'
import { forgetPurged, purgedAmong } from '../../../src/store/reads/purged.ts'
import { insertRows, type OpenedDatabase, runSql, testDatabases } from '../../tools/databases.ts'
import { applyAll, changesOf } from '../../tools/mirror.ts'
import { at, idFacts, observedEvent, observedMessage, uuid, wireById, wireEvent, wireMessage } from '../../tools/observations.ts'
import { fillScene } from '../../tools/query-scene.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const [BAKERY, ROOFING, FOREIGN] = [uuid(9, 1), uuid(9, 2), uuid(9, 3)]
const bakery = { account: 'acme', submission_id: BAKERY }
const roofing = { account: 'acme', submission_id: ROOFING }
const QUEUED = expect.stringMatching(/^2026-01-05T12:40:00/)
const time = (minute: number) => at(minute).replace('.000Z', '.000000Z')

async function fill(db: Db): Promise<void> {
  await fillScene(db)
  await applyAll(db, [
    observedEvent('zenith', FOREIGN, wireEvent(50)),
    observedMessage('zenith', FOREIGN, wireMessage(51)),
    ...idFacts('acme', BAKERY),
  ])
}

describe.each(testDatabases)('reads of the mirror on $name', ({ open }) => {
  let opened: OpenedDatabase
  let db: Db
  beforeAll(async () => {
    opened = await open()
    db = opened.db
    await fill(db)
  })
  afterAll(() => opened.close())

  it('submissions: known ones, following ones, shown ones', async () => {
    const keys = [bakery, roofing, { account: 'zenith', submission_id: BAKERY }]
    expect([...(await knownSubmissions(db.read, keys))].sort()).toEqual([`acme ${BAKERY}`, `acme ${ROOFING}`])
    const idsAfter = (id: string) => submissionIdsAfter(db.read, 'acme', id, 10)
    expect([await idsAfter(''), await idsAfter(BAKERY)]).toEqual([[BAKERY, ROOFING], [ROOFING]])
    expect(await newestSubmission(db.read, 'acme')).toBe(BAKERY)
    const named = await withInsured(db.read, [bakery, { account: 'zenith', submission_id: BAKERY }, { ...bakery, submission_id: null }])
    expect(named.map(({ insured_name }) => insured_name)).toEqual([expect.any(String), null, null])
  })

  it('an id of a kind that can be read', async () => {
    const { ids } = wireById(BAKERY)
    expect(await someKnownId(db.read, 'acme', 'policy')).toEqual({ kind: 'policy', id: ids.policy, submissionId: BAKERY })
    expect(await someKnownId(db.read, 'zenith', 'policy')).toBeNull()
  })

  it('the newest records, and when records happened', async () => {
    expect(await newestOf(db.read, 'acme', BAKERY)).toEqual({ eventAt: time(30), messageAt: time(31), laneEvents: [uuid(1, 30)] })
    expect(await newestOf(db.read, 'zenith', BAKERY)).toEqual({ eventAt: null, messageAt: null, laneEvents: [] })
    const record = (entity: string, ...key: unknown[]) => ({ account: 'acme', entity, entity_id: JSON.stringify([BAKERY, ...key]) })
    const [event, attachment] = [record('market_events', uuid(1, 1)), record('thread_attachments', uuid(2, 31), 0)]
    const times = await recordTimes(db.read, [event, attachment, record('lanes', uuid(3, 1)), record('market_events', uuid(1, 99))])
    expect([...times]).toEqual([
      [recordText(event), { occurredAt: time(1), type: 'market_attached' }],
      [recordText(attachment), { occurredAt: time(31), type: null }],
    ])
  })

  it('open items and quotes, submission by submission', async () => {
    const items = await listOpenWork(db.read, openItemsOf<Row>, { account: 'acme' }, null, 100)
    expect(new Set(items.items.map(({ submission_id }) => submission_id))).toEqual(new Set([BAKERY]))
    expect(items.next).toBeNull()
    const first = await listOpenWork(db.read, openItemsOf<Row>, { account: 'acme' }, null, 2)
    expect(first.next).toEqual({ account: 'acme', submissionId: BAKERY, skip: 2 })
    const rest = await listOpenWork(db.read, openItemsOf<Row>, { account: 'acme' }, first.next, 100)
    expect([...first.items, ...rest.items]).toEqual(items.items)
    expect((await listOpenWork(db.read, openItemsOf<Row>, { submissionId: ROOFING }, null, 10)).items).toEqual([])
    const { items: quotes } = await listOpenWork(db.read, quotesOf<Row>, {}, null, 10)
    expect(quotes.map(({ total_cents }) => total_cents)).toEqual([118_000, 125_000])
    const place = { account: 'acme', submissionId: BAKERY, skip: 1 }
    expect((await listOpenWork(db.read, quotesOf<Row>, {}, place, 10)).items).toEqual(quotes.slice(1))
    for (const { may_be_superseded: flag } of quotes) expect(typeof flag === 'boolean' || flag === null).toBe(true)
  })

  it('documents, by account, state and key', async () => {
    const all = await listDocuments(db.read, { account: 'acme' }, 100)
    expect(all.length).toBeGreaterThan(0)
    expect(all.map(({ document_key }) => document_key)).toEqual(all.map(({ document_key }) => document_key).sort())
    const [first] = all
    if (!first) throw new Error('there is no document')
    const key = first.document_key
    expect(await listDocuments(db.read, { account: 'acme', after: { key, account: 'acme' } }, 100)).toEqual(all.slice(1))
    expect(await listDocuments(db.read, { account: 'acme', submissionId: ROOFING }, 100)).toEqual([])
    expect(await listDocuments(db.read, { account: 'acme', state: first.state }, 1)).toHaveLength(1)
    expect([await findDocuments(db.read, key), await findDocuments(db.read, key, 'zenith')]).toEqual([[first], []])
    expect(await documentMetadata(db.read, { account: 'acme', documentKey: key })).toMatchObject({ name: first.name })
    expect(await documentMetadata(db.read, { account: 'zenith', documentKey: key })).toBeNull()
    expect([await countTooLong(db.read), await storedPathsOf(db.read, 'acme', BAKERY)]).toEqual([0, []])
    await runSql(db, sql`update documents set stored_path = 'a/b' where account = 'acme'`)
    expect(await storedPathsOf(db.read, 'acme', String(first.submission_id))).toEqual(['a/b'])
    expect(await storedPathsOf(db.read, 'zenith', FOREIGN)).toEqual([])
  })

  it('the timeline, each kind after a position, and its attachments', async () => {
    const asked = { key: bakery, after: undefined, limit: 10 }
    const [events, messages] = [await eventsBefore(db.read, asked), await messagesBefore(db.read, asked)]
    expect(events.map(({ id, at: when, what }) => [id, when, what])).toEqual([
      [uuid(1, 30), time(30), 'quote_received'],
      [uuid(1, 1), time(1), 'market_attached'],
    ])
    expect(messages.map(({ id }) => id)).toEqual([uuid(2, 31)])
    const [newest] = events
    if (!newest) throw new Error('there is no event')
    expect((await eventsBefore(db.read, { ...asked, after: newest })).map(({ id }) => id)).toEqual([uuid(1, 1)])
    expect(await messagesBefore(db.read, { ...asked, after: newest })).toEqual([])
    const changes = await changesBefore(db.read, asked)
    expect(changes.map(({ entity }) => entity)).not.toContain('market_events')
    const [latest] = changes
    if (!latest) throw new Error('there is no change')
    expect(Number((await changesBefore(db.read, { ...asked, after: latest }))[0]?.id)).toBeLessThan(Number(latest.id))
    const pushes = await pushesBefore(db.read, asked)
    expect(pushes.map(({ seq, state }) => `${seq} ${state}`)).toEqual(['3 waiting', '2 dead', '1 delivered'])
    expect(await pushesBefore(db.read, { ...asked, key: roofing })).toEqual([])
    const entityId = pushes[1]?.entity_id ?? ''
    expect((await pushesOf(db.read, bakery, [entityId])).map(({ seq }) => seq)).toEqual([2])
    // After a position of any kind come older entries, and those of the same time that are shown later.
    const most = { ...asked, limit: 1_000 }
    const reads = { event: eventsBefore, message: messagesBefore, change: changesBefore, push: pushesBefore }
    const all = (await Promise.all(timelineKinds.map((kind) => reads[kind](db.read, most)))).flat()
    const order = ({ at: when, kind, id }: (typeof all)[number]) => [when, 9 - timelineKinds.indexOf(kind), id.padStart(40, '0')].join(' ')
    for (const place of timelineKinds.flatMap((kind) => all.find((entry) => entry.kind === kind) ?? [])) {
      const behind = (await Promise.all(timelineKinds.map((kind) => reads[kind](db.read, { ...most, after: place })))).flat()
      const wanted = all.filter((entry) => order(entry) < order(place)).map(order)
      expect(behind.map(order).sort(), place.kind).toEqual(wanted.sort())
    }
    expect(await arrivalsOf(db.read, bakery, 'market_events', [uuid(1, 30)])).toMatchObject([{ record_id: uuid(1, 30), known_via: 'poll' }])
    expect(await attachmentsOf(db.read, bakery, [uuid(2, 31), uuid(2, 51)])).toMatchObject([{ message_id: uuid(2, 31), position: 0 }])
  })

  it('a whole submission, its reads, its clients, and its pushes', async () => {
    const whole = await wholeSubmission(db.read, bakery)
    const rowsOf = (table: string) => whole.find(({ entity }) => entity.table === table)?.rows ?? []
    expect([rowsOf('lanes').length, rowsOf('quotes').length, rowsOf(insureds.table).length]).toEqual([2, 2, 1])
    expect(rowsOf('lanes')[0]).not.toHaveProperty('raw')
    expect((await freshnessOf(db.read, bakery)).map(({ account }) => account)).toContain('acme')
    expect(await extraReadsOf(db.read, bakery)).toEqual([])
    const mapping = { destination: 'agency', account: 'acme', submissionId: BAKERY, client: 'C-1', policy: null, fields: {} }
    await storeMappings(db, [mapping], 'import')
    expect([await clientsOf(db.read, bakery), await clientsOf(db.read, roofing)]).toMatchObject([
      [{ destination: 'agency', destination_state: 'active', client: 'C-1', mapped_via: 'import' }],
      [{ destination: 'agency', client: null }],
    ])
    expect(await reachedOf(db.read, bakery)).toMatchObject([
      { destination: 'agency', delivered: 1, waiting: 1, dead: 1, unknown: 0, skipped: 0, held: 0, unmapped: 0, oldest_waiting_at: QUEUED },
    ])
    expect((await reachedOf(db.read, roofing))[0]).toMatchObject({ delivered: 0, waiting: 0, dead: 0 })
  })

  it('one row by its key, and deliveries and pushes by id or number', async () => {
    const table = (name: string) => publicTables.find((spec) => spec.table === name) ?? publicTables[0]
    const row = (name: string, ...key: string[]) => {
      const spec = table(name)
      if (!spec) throw new Error(name)
      return findRow(db.read, spec, key)
    }
    expect(await row('submissions', 'acme', ROOFING)).toMatchObject(roofing)
    expect([await row('submissions', 'zenith', ROOFING), await row('changes', 'one')]).toEqual([null, null])
    expect((await row('changes', '1'))?.['seq']).toBe(1)
    const delivery = { account: 'zenith', deliveryId: 'msg_7', receivedAt: time(0), secret: 1, headers: {}, body: Buffer.from('{}') }
    await new InboxAppender(db).append([delivery])
    const [found] = await findDeliveriesFor(db.read, 'msg_7', 10)
    expect(found).toMatchObject({ account: 'zenith', delivery_id: 'msg_7', state: 'ready' })
    expect(await findDeliveriesFor(db.read, String(found?.inbox_id), 10)).toEqual([found])
    expect(await findDeliveriesFor(db.read, 'msg_8', 10)).toEqual([])
    const [push] = await findPushesFor(db.read, 'MESSAGE-2', 10)
    expect(push).toMatchObject({ destination: 'agency', state: 'dead' })
    expect(await findPushesFor(db.read, String(push?.outbox_id), 10)).toEqual([push])
  })

  it('which submissions wait for a client', async () => {
    const waiting = (more: object = {}) => listUnmapped(db.read, { destination: 'agency', ...more }, 10)
    expect(await waiting()).toEqual([])
    const unmapped = { destination: 'agency', account: 'acme', stream: BAKERY, due_at: time(0), blocked: 'unmapped' }
    await insertRows(db, 'sync_push_streams', unmapped as never)
    expect(await waiting()).toMatchObject([{ ...bakery, changes: 1, since: QUEUED }])
    expect([await waiting({ account: 'zenith' }), await waiting({ after: { account: 'acme', submissionId: BAKERY } })]).toEqual([[], []])
    expect(await listUnmapped(db.read, { destination: 'other' }, 10)).toEqual([])
  })
})

describe.each(testDatabases)('removals from the mirror on $name', ({ open }) => {
  async function filled(): Promise<Db> {
    const { db } = await closedAtEnd(open())
    await fill(db)
    return db
  }

  it('submissions that the service no longer shows are found by time', async () => {
    const db = await filled()
    await runSql(db, sql`update submissions set unreachable_since = ${time(5)} where submission_id = ${ROOFING}`)
    expect([await goneBefore(db.read, 'acme', time(6)), await goneBefore(db.read, 'acme', time(5))]).toEqual([[ROOFING], []])
    expect(await goneBefore(db.read, 'zenith', time(6))).toEqual([])
    const was = (minute: number) => wasUnreachable(db.read, 'acme', ROOFING, time(minute))
    expect([await was(6), await was(5)]).toEqual([true, false])
    const since = (minute: number) => unreachableSince(db.read, 'acme', [BAKERY, ROOFING], time(minute))
    expect([await since(5), await since(6)]).toEqual([[ROOFING], []])
    expect(await newestSubmission(db.read, 'acme')).toBe(BAKERY)
  })

  it('a purge removes all of one submission and nothing of another, and logs it without values', async () => {
    const db = await filled()
    const of = { account: 'acme', submissionId: BAKERY }
    const bodyOf = (id: string, body: string) => {
      return { account: 'acme', deliveryId: id, receivedAt: time(0), secret: 1, headers: {}, body: Buffer.from(body) }
    }
    await new InboxAppender(db).append([bodyOf('msg_1', `{"submission_id":"${BAKERY}"}`), bodyOf('msg_2', '{}')])
    await db.write('test', (tx) => tx.sql.updateTable('sync_inbox').set({ state: 'done' }).execute())
    expect([await beginPurge(db, of), await beginPurge(db, { ...of, account: 'nobody' }, true)]).toEqual([true, false])
    const purged = await purgedAmong(db.read, [bakery, roofing])
    expect([...purged]).toEqual([`acme ${BAKERY}`])
    for (let removed = 1; removed > 0; ) removed = await purgeRows(db, of)
    while ((await purgePushes(db, of)) !== 'none') {}
    for (let after: number | null = 0; after !== null; ) after = await purgeChanges(db, [of], after)
    for (let after: number | null = 0; after !== null; ) after = await purgeBodies(db, [of], after)
    await endPurge(db, of)
    const left = async (table: 'market_events' | 'lanes' | 'sync_outbox' | 'insureds') =>
      (await db.read.sql.selectFrom(table).select('account').where('account', '=', 'acme').execute()).length
    expect([await left('market_events'), await left('lanes'), await left('insureds'), await left('sync_outbox')]).toEqual([0, 0, 0, 0])
    expect(await eventsBefore(db.read, { key: { account: 'zenith', submission_id: FOREIGN }, after: undefined, limit: 9 })).toHaveLength(1)
    const changes = await changesOf(db)
    const about = (submissionId: string) => changes.filter(({ submission_id }) => submission_id === submissionId)
    expect(about(BAKERY).every(({ after }) => Object.keys(after ?? {}).length === 0)).toBe(true)
    expect(about(BAKERY).map(({ operation }) => operation)).toContain('purged')
    expect(about(FOREIGN).every(({ after }) => Object.keys(after ?? {}).length > 0)).toBe(true)
    const bodies = await db.read.sql.selectFrom('sync_inbox').select(['delivery_id', 'body']).orderBy('inbox_id').execute()
    expect(bodies.map(({ body }) => body === null)).toEqual([true, false])
    await forgetPurged(db, 'acme', [BAKERY])
    expect((await purgedAmong(db.read, [bakery])).size).toBe(0)
  })
})
