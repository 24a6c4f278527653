import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { insureds } from '../../../src/model/entities/insureds.ts'
import type { Row } from '../../../src/model/entity.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { documentMetadata } from '../../../src/store/mirror/document-metadata.ts'
import { countTooLong, findDocuments, listDocuments, storedPathsOf } from '../../../src/store/mirror/documents.ts'
import { withInsured } from '../../../src/store/mirror/insured.ts'
import { newestOf } from '../../../src/store/mirror/newest.ts'
import { listOpenWork, openItemsOf, quotesOf } from '../../../src/store/mirror/open-work.ts'
import { findRow, publicTables } from '../../../src/store/mirror/public-rows.ts'
import { beginPurge, endPurge, goneBefore, purgeBodies, purgeChanges, purgeRows } from '../../../src/store/mirror/purge.ts'
import { reachedOf } from '../../../src/store/mirror/reached.ts'
import { recordText, recordTimes } from '../../../src/store/mirror/record-times.ts'
import { findDeliveriesFor, findPushesFor } from '../../../src/store/mirror/search.ts'
import { boundRequests, newestSubmissions, someKnownIds } from '../../../src/store/mirror/some-ids.ts'
import { knownSubmissions, unreachableSince, wasUnreachable } from '../../../src/store/mirror/submissions.ts'
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
import { listUnmapped } from '../../../src/store/mirror/unmapped.ts'
import { clientsOf, extraReadsOf, freshnessOf, wholeSubmission } from '../../../src/store/mirror/whole-submission.ts'
import { purgePushes } from '../../../src/store/outbox/purge.ts'
import { storeMappings } from '../../../src/store/outbox/push-map.ts'
import { submissionIdsAfter } from '../../../src/store/reads/account-reads.ts'
import { forgetPurged, purgedAmong } from '../../../src/store/reads/purged.ts'
import { type OpenedDatabase, testDatabases } from '../../tools/databases.ts'
import { at, eventFact, idFacts, messageFact, uuid, wireById, wireEvent, wireMessage } from '../../tools/facts.ts'
import { applyAll, changesOf } from '../../tools/mirror.ts'
import { fillScene } from '../../tools/query-scene.ts'

const [BAKERY, ROOFING, FOREIGN] = [uuid(9, 1), uuid(9, 2), uuid(9, 3)]
const bakery = { account: 'acme', submission_id: BAKERY }
const roofing = { account: 'acme', submission_id: ROOFING }
/** When the scene queued its pushes. */
const QUEUED = expect.stringMatching(/^2026-01-05T12:40:00/)
const time = (minute: number) => at(minute).replace('.000Z', '.000000Z')

/** Two submissions of one account, one of another, and pushes of the first in three states. */
async function fill(db: Db): Promise<void> {
  await fillScene(db)
  await applyAll(db, [
    eventFact('zenith', FOREIGN, wireEvent(50)),
    messageFact('zenith', FOREIGN, wireMessage(51)),
    ...idFacts('acme', BAKERY),
  ])
}

describe.each(testDatabases)('what is asked of the mirror on $name', ({ open }) => {
  let opened: OpenedDatabase
  let db: Db
  beforeAll(async () => {
    opened = await open()
    db = opened.db
    await fill(db)
  })
  afterAll(() => opened.close())

  it('submissions: which are known, which follow, which are shown', async () => {
    const keys = [bakery, roofing, { account: 'zenith', submission_id: BAKERY }]
    expect([...(await knownSubmissions(db.read, keys))].sort()).toEqual([`acme ${BAKERY}`, `acme ${ROOFING}`])
    expect([await submissionIdsAfter(db.read, 'acme', '', 10), await submissionIdsAfter(db.read, 'acme', BAKERY, 10)]).toEqual([
      [BAKERY, ROOFING],
      [ROOFING],
    ])
    expect((await newestSubmissions(db.read, 'acme', 10)).sort()).toEqual([BAKERY, ROOFING])
    expect(await newestSubmissions(db.read, 'acme', 1)).toEqual([BAKERY])
    expect(
      (await withInsured(db.read, [bakery, { account: 'zenith', submission_id: BAKERY }, { ...bakery, submission_id: null }])).map(
        ({ insured_name }) => insured_name,
      ),
    ).toEqual([expect.any(String), null, null])
  })

  it('ids that can be read by themselves, and requests that are bound', async () => {
    const { ids } = wireById(BAKERY)
    expect(await someKnownIds(db.read, 'acme', 'policy', 10)).toEqual([{ kind: 'policy', id: ids.policy, submissionId: BAKERY }])
    expect([await someKnownIds(db.read, 'zenith', 'policy', 10), await boundRequests(db.read, 'acme', 10)]).toEqual([[], []])
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
    await db.write('test', (tx) =>
      tx.sql
        .updateTable('documents')
        .set({ stored_path: 'a/b' } as never)
        .where('account', '=', 'acme')
        .execute(),
    )
    expect([await storedPathsOf(db.read, 'acme', String(first.submission_id)), await storedPathsOf(db.read, 'zenith', FOREIGN)]).toEqual([
      ['a/b'],
      [],
    ])
  })

  it('the timeline, each kind behind a place, and what hangs on it', async () => {
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
    expect(pushes.map(({ seq, state }) => [seq, state])).toEqual([
      [3, 'waiting'],
      [2, 'dead'],
      [1, 'delivered'],
    ])
    expect(await pushesBefore(db.read, { ...asked, key: roofing })).toEqual([])
    const entityId = pushes[1]?.entity_id ?? ''
    expect((await pushesOf(db.read, bakery, [entityId])).map(({ seq }) => seq)).toEqual([2])
    // Behind a place of any kind stands what is older, or of the same time and shown later.
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
    expect(
      (await attachmentsOf(db.read, bakery, [uuid(2, 31), uuid(2, 51)])).map(({ message_id, position }) => [message_id, position]),
    ).toEqual([[uuid(2, 31), 0]])
  })

  it('a submission as a whole, its reads, its clients, and what reached whom', async () => {
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

  it('one row by its key, and deliveries and pushes by what is known of them', async () => {
    const table = (name: string) => publicTables.find((spec) => spec.table === name) ?? publicTables[0]
    const row = (name: string, ...key: string[]) => {
      const spec = table(name)
      if (!spec) throw new Error(name)
      return findRow(db.read, spec, key)
    }
    expect(await row('submissions', 'acme', ROOFING)).toMatchObject(roofing)
    expect([await row('submissions', 'zenith', ROOFING), await row('changes', 'one'), (await row('changes', '1'))?.['seq']]).toEqual([
      null,
      null,
      1,
    ])
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
    await db.write('test', (tx) =>
      tx.sql
        .insertInto('sync_push_lanes')
        .values({ destination: 'agency', account: 'acme', lane: BAKERY, due_at: time(0), blocked: 'unmapped' } as never)
        .execute(),
    )
    expect(await waiting()).toMatchObject([{ ...bakery, changes: 1, since: QUEUED }])
    expect([await waiting({ account: 'zenith' }), await waiting({ after: { account: 'acme', submissionId: BAKERY } })]).toEqual([[], []])
    expect(await listUnmapped(db.read, { destination: 'other' }, 10)).toEqual([])
  })
})

describe.each(testDatabases)('what leaves the mirror on $name', ({ open }) => {
  async function filled(): Promise<Db> {
    const { db, close } = await open()
    onTestFinished(close)
    await fill(db)
    return db
  }

  it('a submission that the service no longer shows is told by when that was', async () => {
    const db = await filled()
    await db.write('test', (tx) =>
      tx.sql
        .updateTable('submissions')
        .set({ unreachable_since: time(5) })
        .where('submission_id', '=', ROOFING)
        .execute(),
    )
    expect([
      await goneBefore(db.read, 'acme', time(6)),
      await goneBefore(db.read, 'acme', time(5)),
      await goneBefore(db.read, 'zenith', time(6)),
    ]).toEqual([[ROOFING], [], []])
    expect([await wasUnreachable(db.read, 'acme', ROOFING, time(6)), await wasUnreachable(db.read, 'acme', ROOFING, time(5))]).toEqual([
      true,
      false,
    ])
    expect([
      await unreachableSince(db.read, 'acme', [BAKERY, ROOFING], time(5)),
      await unreachableSince(db.read, 'acme', [ROOFING], time(6)),
    ]).toEqual([[ROOFING], []])
    expect(await newestSubmissions(db.read, 'acme', 10)).toEqual([BAKERY])
  })

  it('a purge takes all of one submission and nothing of another, and tells of it without values', async () => {
    const db = await filled()
    const [of, other] = [
      { account: 'acme', submissionId: BAKERY },
      { account: 'zenith', submissionId: FOREIGN },
    ]
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
    expect(about(other.submissionId).every(({ after }) => Object.keys(after ?? {}).length > 0)).toBe(true)
    const bodies = await db.read.sql.selectFrom('sync_inbox').select(['delivery_id', 'body']).orderBy('inbox_id').execute()
    expect(bodies.map(({ body }) => body === null)).toEqual([true, false])
    await forgetPurged(db, 'acme', [BAKERY])
    expect((await purgedAmong(db.read, [bakery])).size).toBe(0)
  })
})
