import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import { threadMessages } from '../../src/model/entities/thread-messages.ts'
import { timeFromMs } from '../../src/model/time.ts'
import { listDeliveries, makeReady, searchDeliveries } from '../../src/store/inbox/queries.ts'
import { withInsured } from '../../src/store/mirror/submissions.ts'
import { findAccount, noteUnreadableEvents, sweep } from '../../src/store/reads/accounts.ts'
import type { InboxTable } from '../../src/store/schema/inbox.ts'
import type { Columns } from '../../src/store/schema/tables.ts'
import { SELF_DELIVERY_TYPE } from '../../src/upstream/webhook/delivery.ts'
import { Endpoint } from '../sandbox/support.ts'
import { testDatabases } from '../tools/databases.ts'
import { changesOf, rowsOf } from '../tools/mirror.ts'
import { uuid, wireEvent, wireMessage } from '../tools/observations.ts'
import { Rig } from '../tools/poller.ts'

const ID = uuid(9, 1)

function messageOf(n: number, over = {}, submission_id = ID): unknown {
  return { type: 'submission.message', submission_id, message: wireMessage(n, over) }
}

async function inbox(rig: Rig): Promise<Pick<InboxTable, 'state' | 'kind' | 'submission_id' | 'error'>[]> {
  return rig.db.read.sql.selectFrom('sync_inbox').select(['state', 'kind', 'submission_id', 'error']).orderBy('inbox_id').execute()
}

/** Delivers, and waits until all of it is settled. */
async function work(rig: Rig, bodies: readonly unknown[], options: Parameters<Rig['deliver']>[1] = {}): Promise<void> {
  const worker = rig.startWorker()
  await rig.deliver(bodies, options)
  const waiting = rig.db.read.sql.selectFrom('sync_inbox').select('inbox_id').where('state', '=', 'ready').limit(1)
  await rig.until('the inbox is empty', async () => (await waiting.execute()).length === 0)
  await worker.stop()
}

async function requested(rig: Rig): Promise<string[]> {
  const rows = await rig.db.read.all(sql<Columns<'sync_reads', 'submission_id' | 'read' | 'request_no'>>`
    select submission_id, read, request_no from sync_reads order by submission_id, read`)
  return rows.filter((row) => row.request_no > 0).map((row) => `${row.submission_id} ${row.read}`)
}

describe.each(testDatabases)('working on deliveries on $name', (database) => {
  it.each(['events', 'data', 'single'] as const)(
    'trap 25: whole events laid out as "%s" are applied immediately, and reads of the feeds are requested',
    async (eventsPayload) => {
      const rig = await Rig.open(database, { sandbox: { eventsPayload } })
      const id = rig.sandbox.addSubmission('default')
      const { bodies, events } = await announced(rig, id)
      await rig.db.write('test', (tx) => noteUnreadableEvents(tx, 'default', timeFromMs(Date.now() - 25 * 3_600_000)))
      await work(rig, bodies)
      expect((await rowsOf(rig.db, marketEvents)).map((row) => row['event_id'])).toEqual(events.sort())
      expect(await requested(rig)).toEqual(expect.arrayContaining([`${id} events`, `${id} thread`]))
      for (const row of await inbox(rig)) expect(row).toEqual({ state: 'done', kind: 'submission.events', submission_id: id, error: null })
      expect((await findAccount(rig.db.read, 'default'))?.events_unreadable_at).toBeNull()
    },
  )

  it('measures a delivery and its records, but not a replayed one', async () => {
    const rig = await Rig.open(database)
    const lags = () =>
      rig
        .timed()
        .filter((name) => name === 'record_lag_seconds' || name === 'delivery_to_mirror_seconds')
        .sort()
    await work(rig, [messageOf(1)])
    expect(lags()).toEqual(['delivery_to_mirror_seconds', 'record_lag_seconds'])
    // It could not be applied before, so its message is new.
    await rig.db.write('test', async (tx) => {
      await tx.sql.updateTable('sync_inbox').set({ state: 'dead' }).execute()
      await tx.sql.deleteFrom('thread_messages').execute()
    })
    const [{ inbox_id: id } = { inbox_id: 0 }] = await listDeliveries(rig.db.read, {}, 1)
    expect(await makeReady(rig.db, [id])).toBe(1)
    await work(rig, [])
    expect([(await rowsOf(rig.db, threadMessages)).length, lags()]).toEqual([1, []])
  })

  it('stores for each delivery its event and its insured', async () => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission('default', { facts: { insured_name: 'Castañeda Transport' } })
    const market = { name: 'Harborline' }
    await work(rig, [
      {
        type: 'submission.events',
        events: [1, 2].map((n) => ({ ...wireEvent(n, { type: 'quote_received' }, market), submission_id: id })),
      },
      messageOf(3, { kind: 'broker_reply' }, id),
      { type: 'submission.events', events: [] },
    ])
    await rig.db.write('test', (tx) => tx.sql.updateTable('submissions').set({ insured_name: 'Castañeda Transport' }).execute())
    const listed = await withInsured(rig.db.read, await listDeliveries(rig.db.read, {}, 10))
    expect(listed.map(({ what, insured_name }) => [what, insured_name])).toEqual([
      [null, null],
      ['broker_reply', 'Castañeda Transport'],
      ['quote_received · Harborline · 1 more', 'Castañeda Transport'],
    ])
    const found = async (text: string) =>
      (await searchDeliveries(rig.db.read, {}, { text, withInsured: (rows) => withInsured(rig.db.read, rows) }, 10)).items.map(
        ({ what }) => what,
      )
    expect(await found('quote received')).toEqual(['quote_received · Harborline · 1 more'])
    expect(await found('castaneda')).toEqual(['broker_reply', 'quote_received · Harborline · 1 more'])
    expect(await found('harbor')).toHaveLength(1)
  })

  it('trap 25: ids alone request reads of the feeds of their submission', async () => {
    const rig = await Rig.open(database, { sandbox: { eventsPayload: 'ids-only' } })
    const id = rig.sandbox.addSubmission('default')
    const { bodies, events } = await announced(rig, id)
    await work(rig, bodies)
    expect(await rowsOf(rig.db, marketEvents)).toEqual([])
    expect(await requested(rig)).toEqual([`${id} events`, `${id} thread`])
    expect(await inbox(rig)).toMatchObject([{ state: 'done', submission_id: id }])
    expect((await findAccount(rig.db.read, 'default'))?.events_unreadable_at).not.toBeNull()
    await rig.poll()
    expect((await rowsOf(rig.db, marketEvents)).map((row) => row['event_id'])).toEqual(events.sort())
  })

  it('trap 25: a known id under any key requests reads of its feeds, and an unknown one requests none', async () => {
    const rig = await Rig.open(database)
    await rig.track([ID])
    await work(rig, [{ type: 'submission.events', data: { about: [{ ref: ID.toUpperCase() }, uuid(9, 77)] } }])
    expect(await requested(rig)).toEqual([`${ID} events`, `${ID} thread`])
    expect(await rowsOf(rig.db, submissions)).toHaveLength(1)
  })

  it('trap 25: when nothing names a submission the active ones are read, at most once in five minutes', async () => {
    const rig = await Rig.open(database, { sandbox: { eventsPayload: 'opaque' } })
    const ids = Array.from({ length: 3 }, () => rig.sandbox.addSubmission('default'))
    await rig.track(ids)
    await rig.poll()
    const before = rig.asked('events').length
    const { bodies, events } = await announced(rig, ids[0] ?? '')
    await work(rig, [...bodies, ...bodies, ...bodies])
    await rig.until('they are swept', () => rig.asked('events').length === before + ids.length)
    await rig.rest()
    expect(rig.counted('sweeps_total')).toBe(1)
    expect((await rowsOf(rig.db, marketEvents)).map((row) => row['event_id'])).toEqual(events.sort())
    expect(rig.asked('events').length).toBe(before + ids.length)
    for (const row of await inbox(rig)) expect(row).toMatchObject({ state: 'aside', kind: 'submission.events', submission_id: null })
    await work(rig, bodies)
    await rig.rest()
    expect(rig.counted('sweeps_total')).toBe(1)
    await rig.pass(300_000)
    await rig.until('they are swept again', () => rig.counted('sweeps_total') === 2)
  })

  it('trap 25: what names its submission asks for no reading of the others', async () => {
    const rig = await Rig.open(database)
    const wish = () => rig.db.read.sql.selectFrom('sync_accounts').select('sweep_wanted').execute()
    await work(rig, [messageOf(1), { type: 'submission.events', submission_id: ID }, { type: SELF_DELIVERY_TYPE }])
    expect(await wish()).toEqual([{ sweep_wanted: sweep.none }])
    await work(rig, [{ type: 'submission.events' }])
    expect(await wish()).toEqual([{ sweep_wanted: sweep.wanted }])
  })

  it('trap 27: one message that comes under two delivery ids is one message', async () => {
    const rig = await Rig.open(database)
    await work(rig, [messageOf(1)], { ids: ['msg_a'] })
    const before = await changesOf(rig.db)
    await work(rig, [messageOf(1), messageOf(1)], { ids: ['msg_b', 'msg_a'] })
    expect(await inbox(rig)).toHaveLength(2)
    expect(await rowsOf(rig.db, threadMessages)).toHaveLength(1)
    expect(await changesOf(rig.db)).toEqual(before)
  })

  it('trap 28: deliveries that come out of order, and over and over, end in what their feed says', async () => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission('default')
    const lane = rig.sandbox.addLane('default', id).rail.submission_market_id
    rig.sandbox.setRail('default', id, { available: false })
    const events = ['market_attached', 'quote_received', 'declined'].map((type) =>
      rig.sandbox.addEvent('default', id, { type, lane_id: lane }),
    )
    const bodies = events.map((event) => ({ type: 'submission.events', submission_id: id, events: [event] }))
    for (const n of [2, 0, 1, 2, 0]) await work(rig, [bodies[n]])
    const lanes = await rig.db.read.sql.selectFrom('lanes').select(['status', 'state_event_id']).execute()
    expect(lanes).toEqual([{ status: 'declined', state_event_id: events[2]?.id }])
    const before = await changesOf(rig.db)
    await rig.poll()
    const known = new Set(before.map((change) => change.entity).filter((entity) => entity !== 'submissions'))
    expect(known).toContain('lanes')
    expect((await changesOf(rig.db)).slice(before.length).filter((change) => known.has(change.entity))).toEqual([])
  })

  it('trap 35: an unknown type is set aside with its reason, and requests reads of the feeds of what it names', async () => {
    const rig = await Rig.open(database)
    await rig.track([ID])
    await work(rig, [{ type: 'submission.bound', submission_id: ID, more: { x: 1 } }, { type: 'billing.paid' }])
    expect(await inbox(rig)).toMatchObject([
      { state: 'aside', kind: 'submission.bound', submission_id: ID, error: expect.stringContaining('submission.bound') },
      { state: 'aside', kind: 'billing.paid', submission_id: null },
    ])
    expect(await requested(rig)).toEqual([`${ID} events`, `${ID} thread`])
    const bodies = await rig.db.read.sql.selectFrom('sync_inbox').select('body').orderBy('inbox_id').execute()
    expect(bodies[0]?.body?.toString()).toBe(JSON.stringify({ type: 'submission.bound', submission_id: ID, more: { x: 1 } }))
  })

  it('trap 72: NUL and lone surrogates anywhere in a delivery break nothing, and stay in the inbox as they came', async () => {
    const rig = await Rig.open(database)
    const strange = 'a\u0000b\ud800'
    const bodies = [
      { type: strange, submission_id: ID },
      messageOf(1, { body_text: strange }),
      { type: 'submission.events', [strange]: strange },
    ]
    await work(rig, bodies)
    expect((await inbox(rig)).map((row) => [row.state, row.kind])).toEqual([
      ['aside', 'a\ufffdb\ufffd'],
      ['done', 'submission.message'],
      ['aside', 'submission.events'],
    ])
    expect(rig.counted('deliveries_settled_total', { state: 'retry' })).toBe(0)
    expect(await rowsOf(rig.db, threadMessages)).toMatchObject([{ body_text: 'a\ufffdb\ufffd' }])
    const kept = await rig.db.read.sql.selectFrom('sync_inbox').select('body').orderBy('inbox_id').execute()
    expect(kept.map((row) => row.body?.toString())).toEqual(bodies.map((body) => JSON.stringify(body)))
  })

  it('trap 30: an unreadable delivery is kept unchanged, set aside, and delays no other', async () => {
    const rig = await Rig.open(database)
    const broken = [
      'no JSON',
      '',
      '[]',
      'null',
      '{"type":7}',
      { type: 'submission.message', submission_id: ID, message: { id: 'no' } },
      '{"type":"submission.message","submission_id":"no"}',
    ]
    await work(rig, [...broken, messageOf(1)])
    const states = (await inbox(rig)).map((row) => row.state)
    expect(states).toEqual([...broken.map(() => 'aside'), 'done'])
    expect(await rowsOf(rig.db, threadMessages)).toHaveLength(1)
    expect(rig.counted('deliveries_settled_total', { state: 'aside' })).toBe(broken.length)
    const reasons = (await inbox(rig)).map((row) => row.error)
    expect(reasons[5]).toBe('the message does not match the specification; its feed is read instead')
    expect(reasons[6]).toBe(
      'the message does not match the specification, and the delivery names no submission, so the active submissions are read instead',
    )
    // The message that could not be read is found in its feed.
    expect(await requested(rig)).toContain(`${ID} thread`)
  })

  it('trap 36: the same body in two accounts is two rows, and requests reads of two submissions', async () => {
    const rig = await Rig.open(database, { accounts: ['acme', 'acme-staging'] })
    const body = { type: 'submission.events', submission_id: ID, events: [wireEvent(1)] }
    await rig.deliver([body], { account: 'acme', ids: ['msg_1'] })
    await work(rig, [body], { account: 'acme-staging', ids: ['msg_1'] })
    expect((await rowsOf(rig.db, marketEvents)).map((row) => [row['account'], row['event_id']])).toEqual([
      ['acme', uuid(1, 1)],
      ['acme-staging', uuid(1, 1)],
    ])
    expect(await inbox(rig)).toMatchObject([{ state: 'done' }, { state: 'done' }])
  })
})

/** Bodies of the sandbox's deliveries of two new events. */
async function announced(rig: Rig, id: string): Promise<{ bodies: string[]; events: string[] }> {
  const endpoint = await Endpoint.open()
  rig.sandbox.account('default').target = endpoint.url
  const events = rig.sandbox.addEvents('default', id, [{ type: 'market_attached' }, { type: 'quote_received' }])
  await rig.sandbox.deliveries.idle()
  rig.sandbox.account('default').target = null
  return { bodies: endpoint.arrivals.map((arrival) => arrival.body), events: events.map((event) => event.id) }
}
