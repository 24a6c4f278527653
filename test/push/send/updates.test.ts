import { describe, expect, it } from 'vitest'
import type { HttpDestination } from '../../../src/config/config.ts'
import type { Outcome, PushItem } from '../../../src/push/contract/delivery.ts'
import { notSentReason } from '../../../src/push/send/item.ts'
import { setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { retryRows, skipRows } from '../../../src/store/outbox/retry.ts'
import { ID_NOT_KNOWN } from '../../../src/store/outbox/rows.ts'
import { undeliveredAfter } from '../../../src/store/reconcile/pushes.ts'
import { onSqlite, type TestDatabase } from '../../tools/databases.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { destinationTo, itemOf } from '../http/support.ts'
import { delivered, testKind } from '../kind.ts'
import { counters } from '../outbox.ts'
import { PushRig, webhookTo } from '../rig.ts'

const REFUSED: Outcome = { type: 'failed', permanent: true, alive: true, status: 400, error: 'answered 400', retryAfterMs: null }
const event = (n: number, over = {}) => observedEvent('default', uuid(9, 1), wireEvent(n, over))
const take = ({ seq, remoteId }: PushItem): Outcome => ({ type: 'delivered', status: 200, remoteId: remoteId ?? `r-${seq}`, detail: null })

const base = destinationTo('http://unused.example', {
  accounts: ['default'],
  entities: ['market_events'],
  personalFields: ['market_events.detail'],
  scheduleMs: [10, 10, 10],
  remoteId: 'body.id',
})
const updating: HttpDestination = { ...base, update: { ...base.request, method: 'PATCH' } }

async function rigWith(database: TestDatabase, over: Partial<HttpDestination> = {}, send: (item: PushItem) => Outcome = take) {
  const rig = await PushRig.open(database)
  const destination = { ...updating, ...over }
  const sent: PushItem[] = []
  const kind = testKind({
    send: (item) => {
      sent.push(item)
      return send(item)
    },
  })
  const start = () => rig.start([destination], { kindOf: () => kind })
  const begin = async () => {
    await rig.begin(destination)
    start()
  }
  const tried = () => sent.map(({ operation, remoteId }) => [operation, remoteId])
  const settled = async (...states: string[]) => {
    const said = async () => (await rig.rows()).map(({ state }) => state).join()
    await rig.until(states.join(), async () => (await said()) === states.join())
    const { kept, counted } = await counters(rig.db, 'ams')
    expect(kept).toEqual(counted)
  }
  return { rig, destination, begin, start, tried, settled }
}

function shown(rig: PushRig) {
  return rig.db.read.sql.selectFrom('push_status').select(['operation', 'state', 'attempts', 'tried_at', 'error']).orderBy('seq').execute()
}

describe.each(onSqlite)('a destination that updates its records, on $name', (database) => {
  it('gets no update of a record whose insert it never got; the row says why, and later rows go out', async () => {
    const { rig, begin, tried, settled } = await rigWith(database)
    await rig.apply([event(1)])
    await begin()
    await rig.apply([event(1, { detail: 'Filled in later' })])
    await rig.apply([event(2)])
    await settled('skipped', 'delivered')
    expect(tried()).toEqual([['insert', null]])
    expect((await shown(rig))[0]).toEqual({
      operation: 'update',
      state: 'skipped',
      attempts: 0,
      tried_at: null,
      error: expect.stringMatching(/^not sent: the target's id of the record is unknown, because its insert was excluded, /),
    })
    expect(rig.counts.of('push_attempts_total ams skipped')).toBe(1)
    expect(await rig.db.read.sql.selectFrom('sync_push_streams').selectAll().execute()).toEqual([])
    const undelivered = (['ready', 'dead', 'unknown'] as const).map((state) => undeliveredAfter(rig.db.read, 'ams', state, 0, 10, 'run'))
    expect((await Promise.all(undelivered)).flat()).toEqual([])
  })

  it('gets no update while the insert is dead, and all of them in order when the retried insert is taken', async () => {
    let refuses = true
    const { rig, begin, tried, settled } = await rigWith(database, {}, (item) => (refuses ? REFUSED : take(item)))
    await begin()
    await rig.apply([event(1, { status: null })])
    await rig.apply([event(1, { status: null, detail: 'Filled in later' })])
    await rig.apply([event(1, { detail: 'Filled in later', status: 'quoted' })])
    await settled('dead', 'skipped', 'skipped')
    refuses = false
    expect(await retryRows(rig.db, { destination: 'ams', state: 'dead' }, 0, 10)).toMatchObject({ changed: 3 })
    await settled('delivered', 'delivered', 'delivered')
    const ofRecord = ['update', expect.stringMatching(/^r-/)]
    expect(tried().slice(-3)).toEqual([['insert', null], ofRecord, ofRecord])
  })

  it('gets, after a retried insert, neither the updates of other records nor those that a person gave up', async () => {
    let refuses = true
    const { rig, begin, settled } = await rigWith(database, {}, (item) => (refuses ? REFUSED : take(item)))
    await begin()
    await rig.apply([event(1, { status: null }), event(2)])
    await rig.apply([event(1, { status: null, detail: 'Filled in later' })])
    await settled('dead', 'dead', 'skipped')
    await setDestinationState(rig.db, 'ams', 'paused', 'a person looks')
    await rig.apply([event(1, { detail: 'Filled in later', status: 'quoted' })])
    await rig.until('it is queued', async () => (await rig.rows()).length === 4)
    await skipRows(rig.db, { destination: 'ams', state: 'ready' }, 0, 10)
    refuses = false
    await setDestinationState(rig.db, 'ams', 'active', null)
    const [first, second] = (await rig.rows()).map((row) => row.outbox_id)
    await retryRows(rig.db, { outboxIds: [second ?? 0] }, 0, 10)
    await settled('dead', 'delivered', 'skipped', 'skipped')
    await retryRows(rig.db, { outboxIds: [first ?? 0] }, 0, 10)
    await settled('delivered', 'delivered', 'delivered', 'skipped')
  })

  it('gets no update of a record that was accepted without an id', async () => {
    const { rig, begin, tried, settled } = await rigWith(database, {}, () => delivered)
    await begin()
    await rig.apply([event(1)])
    await rig.apply([event(1, { detail: 'Filled in later' })])
    await settled('delivered', 'skipped')
    expect(tried()).toEqual([['insert', null]])
  })

  it('asks no person about an update that is never sent', async () => {
    const { rig, begin, start, settled, destination } = await rigWith(database)
    await rig.apply([event(1)])
    await rig.begin(destination)
    await setDestinationState(rig.db, 'ams', 'paused', 'a test fills the outbox')
    const running = start()
    await rig.apply([event(1, { detail: 'Filled in later' })])
    await rig.until('it is queued', async () => (await rig.rows()).length === 1)
    await running.stop()
    // As left by a process that died with the row claimed.
    await rig.db.write('test', (tx) => tx.sql.updateTable('sync_outbox').set({ uncertain: 1 }).execute())
    await setDestinationState(rig.db, 'ams', 'active', null)
    await begin()
    await settled('skipped')
  })

  it('gets an update under the id that the target has just given', async () => {
    const { rig, start, tried, settled, destination } = await rigWith(database, { idempotent: true })
    await rig.begin(destination)
    await setDestinationState(rig.db, 'ams', 'paused', 'a test fills the outbox')
    start()
    await rig.apply([event(1)])
    await rig.apply([event(1, { detail: 'Filled in later' })])
    await rig.until('both are queued', async () => (await rig.rows()).length === 2)
    await setDestinationState(rig.db, 'ams', 'active', null)
    await settled('delivered', 'delivered')
    const [row] = await rig.rows()
    expect(tried()).toEqual([
      ['insert', null],
      ['update', `r-${row?.seq}`],
    ])
  })

  it('gets no update that is empty after personal_fields', async () => {
    const { rig, begin, tried, settled } = await rigWith(database, { personalFields: [] })
    await begin()
    await rig.apply([event(1)])
    await rig.apply([event(1, { detail: 'Jane called' })])
    await settled('delivered', 'skipped')
    expect(tried()).toEqual([['insert', null]])
    expect((await shown(rig))[1]?.error).toBe('not sent: it only changes personal columns that personal_fields does not list')
  })

  it('gets that a record left its filter, though personal_fields leaves nothing of the change', async () => {
    const { rig, begin, tried, settled } = await rigWith(database, { personalFields: [], filter: 'row.detail != "Ended"' })
    await begin()
    await rig.apply([event(1)])
    await settled('delivered')
    await rig.apply([event(1, { detail: 'Ended' })])
    await settled('delivered', 'delivered')
    expect(tried()).toEqual([
      ['insert', null],
      ['update', expect.stringMatching(/^r-/)],
    ])
  })

  it('gets no change of a record that left its filter without an id', () => {
    const leaving = itemOf({ operation: 'update', after: {}, leftFilter: true })
    expect(notSentReason(updating, leaving, false)).toBe(ID_NOT_KNOWN)
    expect(notSentReason(updating, { ...leaving, remoteId: 'r-1' }, false)).toBeNull()
  })

  it('uses no turn of its rate for updates that are not sent', async () => {
    const { rig, begin, settled } = await rigWith(database, { rps: 1 })
    const numbers = Array.from({ length: 40 }, (_, n) => n)
    await rig.apply(numbers.map((n) => event(n)))
    await begin()
    await rig.apply(numbers.map((n) => event(n, { detail: 'Filled in later' })))
    await settled(...numbers.map(() => 'skipped'))
  })

  it('lets no submission wait for a client because of an update that is not sent', async () => {
    const { rig, begin, settled } = await rigWith(database, { mapping: 'required' })
    await rig.apply([event(1)])
    await begin()
    await rig.apply([event(1, { detail: 'Filled in later' })])
    await settled('skipped')
  })
})

describe('a destination without a request for updates', () => {
  const [database] = onSqlite as [TestDatabase]

  it.each([
    ['http', { ...base, personalFields: [] }],
    ['webhook', webhookTo('http://unused.example', { entities: ['market_events'] })],
  ])('of the kind %s gets every change, even one without columns that may be sent', async (_, destination) => {
    const rig = await PushRig.open(database)
    const sent: PushItem[] = []
    const send = (item: PushItem) => {
      sent.push(item)
      return delivered
    }
    await rig.apply([event(1)])
    await rig.begin(destination)
    rig.start([destination], { kindOf: () => testKind({ send }) })
    await rig.apply([event(1, { detail: 'Jane called' })])
    await rig.until('it was sent', () => rig.isEmpty())
    expect(sent.map(({ operation, before, after }) => [operation, before, after])).toEqual([['update', {}, {}]])
  })
})
