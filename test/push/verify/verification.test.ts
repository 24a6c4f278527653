import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { CounterName, Labels } from '../../../src/base/observer.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import type { HttpDestination } from '../../../src/config/config.ts'
import type { Presence, PushItem } from '../../../src/push/contract/delivery.ts'
import { DestinationGate } from '../../../src/push/send/destination-gate.ts'
import { Verification, type VerificationOptions, type VerificationRequest } from '../../../src/push/verify/verification.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { findDestination, setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { storeMappings } from '../../../src/store/outbox/push-map.ts'
import { claimStreams } from '../../../src/store/outbox/work.ts'
import { runSql, silentLog, testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedEvent, trackFact, uuid, wireEvent } from '../../tools/observations.ts'
import { destinationTo } from '../http/support.ts'
import { ACCOUNT, destinationOf, fanAll, openedDb, outboxOf, result, settleEach } from '../outbox.ts'

const IDS = Array.from({ length: 12 }, (_, n) => uuid(9, n + 1))
const HAS: Presence = { type: 'has' }
const LACKS: Presence = { type: 'lacks' }
const failed = { type: 'failed', permanent: false, alive: true, status: 500, error: 'answered 500', retryAfterMs: null } as const

describe.each(testDatabases)('a verification on $name', ({ open }) => {
  /** This many events, all accepted by the target. */
  async function delivered(): Promise<Db> {
    const db = await openedDb(open)
    await applyAll(db, [...IDS.map((id) => trackFact(ACCOUNT, id)), ...IDS.map((id) => observedEvent(ACCOUNT, id, wireEvent(1)))])
    await fanAll(db, [destinationOf('ams', { entities: ['market_events'] })])
    const streams = await claimStreams(db, 'ams', { streams: 20, rowsPerStream: 1, leaseMs: 60_000, uncertain: false })
    await settleEach(db, streams, (stream) => result(stream, 'delivered'))
    return db
  }

  interface Asked {
    readonly db: Db
    readonly verify: (item: PushItem) => Presence | Promise<Presence>
    readonly destination?: Partial<HttpDestination>
    readonly options?: Partial<VerificationOptions>
    readonly request?: Partial<VerificationRequest>
  }

  async function ask({ db, verify, destination: own, options, request }: Asked) {
    const destination = destinationTo('https://ams.example', { accounts: [ACCOUNT], concurrency: 2, ...own })
    const parts = { db, clock: options?.clock ?? systemClock, log: silentLog, observer: silentObserver }
    const gate = new DestinationGate({ ...parts, destination })
    const asking = { ...parts, destination, gate, verify: async (item: PushItem) => await verify(item), looksFirst: true }
    const all = { selection: {}, sample: null, repair: false, ...request }
    const report = await new Verification({ ...asking, signal: new AbortController().signal, ...options }, all).run()
    await gate.flush()
    return report
  }

  it('asks for a sample by chance, counts each answer, and notes the whole', async () => {
    const db = await delivered()
    const counted: Labels[] = []
    const observer = {
      ...silentObserver,
      count: (name: CounterName, labels: Labels = {}) => void (name === 'push_verified_total' && counted.push(labels)),
    }
    const asked = new Set<string>()
    const verify = ({ messageId }: PushItem) => {
      asked.add(messageId)
      return HAS
    }
    const report = await ask({ db, verify, options: { observer }, request: { sample: 5 } })
    expect(report).toMatchObject({ delivered: 12, asked: 5, has: 5, isWhole: true })
    expect(asked.size).toBe(5)
    expect(counted).toEqual(Array(5).fill({ destination: 'ams', result: 'has' }))
    expect((await findDestination(db.read, 'ams'))?.verified).toMatchObject({ delivered: 12, asked: 5, has: 5 })
    const one = await ask({ db, verify, request: { selection: { submissionId: IDS[3] } } })
    expect(one).toMatchObject({ delivered: 1, asked: 1 })
    expect((await findDestination(db.read, 'ams'))?.verified).toMatchObject({ asked: 5 })
  })

  it('leaves undetermined what a target may not show yet, and repairs none of it', async () => {
    const db = await delivered()
    const report = (lookupAfterMs: number) =>
      ask({ db, verify: () => LACKS, options: { lookupAfterMs }, request: { repair: true, selection: { submissionId: IDS[0] } } })
    expect(await report(3_600_000)).toMatchObject({ asked: 1, lacks: 0, undetermined: 1, repaired: 0, isWhole: true })
    expect(await report(0)).toMatchObject({ asked: 1, lacks: 1, undetermined: 0, repaired: 1 })
  })

  it('asks for nothing that the filters leave out now', async () => {
    const db = await delivered()
    const of = async (destination: Partial<HttpDestination>) => (await ask({ db, verify: () => HAS, destination })).asked
    expect(await of({ entities: ['quotes'] })).toBe(0)
    expect(await of({ operations: ['update'] })).toBe(0)
    expect(await of({ eventTypes: ['bind_confirmed'] })).toBe(0)
    expect(await of({ eventTypes: ['status_changed'], maxAgeMs: 1 })).toBe(12)
  })

  it('sends missing changes again, once, with a second lookup where the sender could not look first', async () => {
    const db = await delivered()
    const looks = new Map<string, number>()
    const verify = ({ messageId, submissionId }: PushItem) => {
      const n = (looks.get(messageId) ?? 0) + 1
      looks.set(messageId, n)
      if (submissionId === IDS[0]) return LACKS
      return submissionId === IDS[1] && n === 1 ? LACKS : HAS
    }
    const report = await ask({ db, verify, options: { looksFirst: false }, request: { repair: true } })
    expect(report).toMatchObject({ asked: 12, has: 10, lacks: 2, repaired: 1 })
    expect(report.changes.map(({ row, isRepaired }) => [row.submissionId, isRepaired])).toEqual([
      [IDS[0], true],
      [IDS[1], false],
    ])
    const queued = (await outboxOf(db, 'ams')).filter(({ state }) => state === 'ready')
    expect(queued.map(({ submission_id, uncertain }) => [submission_id, uncertain])).toEqual([[IDS[0], 0]])
    // It is on its way: it does not count as delivered, and is not sent twice.
    const again = await ask({ db, verify: () => LACKS, request: { repair: true, selection: { submissionId: IDS[0] } } })
    expect(again).toMatchObject({ asked: 0 })
    const wary = await ask({ db, verify: () => LACKS, request: { repair: true, selection: { submissionId: IDS[2] } } })
    expect(wary.repaired).toBe(1)
    expect((await outboxOf(db, 'ams')).at(-1)).toMatchObject({ submission_id: IDS[2], uncertain: 1, state: 'ready' })
  })

  it('asks for later changes of a record, whose insert it sends again, by the id that the target had given it before', async () => {
    const db = await delivered()
    const take = async (remoteId: string) => {
      const streams = await claimStreams(db, 'ams', { streams: 20, rowsPerStream: 1, leaseMs: 60_000, uncertain: false })
      await settleEach(db, streams, (stream) => result(stream, 'delivered', { remoteId }))
    }
    await applyAll(db, [observedEvent(ACCOUNT, IDS[0] ?? '', wireEvent(1, { detail: 'Loss runs' }))])
    await fanAll(db, [destinationOf('ams', { entities: ['market_events'] })])
    await take('old')
    const verify = async ({ submissionId, remoteId }: PushItem): Promise<Presence> => {
      // By now the sender has created the record again, with its first content.
      if (submissionId === IDS[5]) await take('new')
      return submissionId === IDS[0] && remoteId !== 'new' ? LACKS : HAS
    }
    const report = await ask({ db, verify, destination: { concurrency: 1 }, request: { repair: true } })
    expect(report).toMatchObject({ asked: 13, lacks: 2, repaired: 2 })
    expect((await outboxOf(db, 'ams')).slice(13).map(({ operation, state }) => [operation, state])).toEqual([
      ['insert', 'delivered'],
      ['update', 'ready'],
    ])
  })

  it('never sends changes with unknown outcome, nor after an answer that is undetermined', async () => {
    const db = await delivered()
    const verify = async ({ submissionId }: PushItem): Promise<Presence> => {
      if (submissionId !== IDS[0]) return { type: 'undetermined', outcome: failed }
      await db.write('test', (tx) =>
        tx.sql.updateTable('sync_outbox').set({ state: 'unknown' }).where('submission_id', '=', submissionId).execute(),
      )
      return LACKS
    }
    const report = await ask({ db, verify, request: { repair: true } })
    expect(report).toMatchObject({ lacks: 1, undetermined: 11, repaired: 0 })
    expect(report.changes.at(-1)).toMatchObject({ result: 'undetermined', error: 'answered 500', status: 500 })
    expect((await outboxOf(db, 'ams')).every(({ state }) => state !== 'ready')).toBe(true)
  })

  it('ends when the destination is stopped, keeps its results, and continues after them', async () => {
    const db = await delivered()
    const places: number[] = []
    let asked = 0
    const verify = async (): Promise<Presence> => {
      asked += 1
      if (asked <= 4) return HAS
      return { type: 'undetermined', outcome: { type: 'suspend', retry: 'soon', status: 403, error: 'answered 403' } }
    }
    const onStored = async (_: unknown, outboxId: number) => void places.push(outboxId)
    const cut = await ask({ db, verify, request: { onStored } })
    expect(cut).toMatchObject({ delivered: 12, asked: 4, has: 4, isWhole: false })
    expect(await findDestination(db.read, 'ams')).toMatchObject({ verified: null, state: 'suspended' })

    await setDestinationState(db, 'ams', 'active', null)
    const continues = { after: places.at(-1) ?? 0, found: { has: 4, lacks: 0, differs: 0, undetermined: 0 } }
    const rest: string[] = []
    const later = ({ messageId }: PushItem) => {
      rest.push(messageId)
      return HAS
    }
    const whole = await ask({ db, verify: later, request: { continues, onStored } })
    expect(whole).toMatchObject({ delivered: 12, asked: 12, has: 12, isWhole: true })
    expect(rest).toHaveLength(8)
    expect(places.at(-1)).toBe(0)
  })

  it('waits for the time that the target requests, and asks again', async () => {
    const db = await delivered()
    let steady = 0
    const sleep = async (ms: number) => {
      steady += ms
    }
    const clock = { ...systemClock, steady: () => steady, sleep }
    const outcome = { type: 'throttled', status: 429, error: 'answered 429', retryAfterMs: 45 * 60_000 } as const
    const busy: Presence = { type: 'undetermined', outcome }
    let asked = 0
    const verify = () => {
      asked += 1
      return asked === 3 ? busy : HAS
    }
    const report = await ask({ db, verify, options: { clock } })
    expect(report).toMatchObject({ asked: 12, has: 12, isWhole: true })
    expect(asked).toBe(13)
    // A later run asks for rows that got no other answer.
    expect(await ask({ db, verify: () => busy, options: { clock } })).toMatchObject({ asked: 0, isWhole: false })
  })

  it('leaves undetermined what a target lacks if its submission was mapped again since, and does not copy it to the new client', async () => {
    const db = await delivered()
    const clients = IDS.slice(0, 2).map((submissionId) => ({ destination: 'ams', account: ACCOUNT, submissionId, client: 'C-1' }))
    await storeMappings(
      db,
      clients.map((client) => ({ ...client, policy: null, fields: {} })),
      'import',
    )
    for (const [place, mapped_at] of ['2100-01-01T00:00:00.000000Z', '2000-01-01T00:00:00.000000Z'].entries())
      await runSql(db, sql`update push_map set mapped_at = ${mapped_at} where submission_id = ${IDS[place] ?? ''}`)
    const report = await ask({ db, verify: ({ submissionId }) => (submissionId === IDS[2] ? HAS : LACKS), request: { repair: true } })
    expect(report).toMatchObject({ has: 1, lacks: 10, undetermined: 1, repaired: 10 })
    expect(report.changes.find(({ result: answer }) => answer === 'undetermined')).toMatchObject({
      row: { submissionId: IDS[0] },
      error: 'the target lacks the change, and the submission was mapped to another client since',
    })
  })

  it('leaves undetermined what it cannot ask for: its change is gone, or its submission is no longer mapped', async () => {
    const db = await delivered()
    const asked: string[] = []
    const verify = ({ messageId }: PushItem) => {
      asked.push(messageId)
      return HAS
    }
    const unmapped = await ask({ db, verify, destination: { mapping: 'required' } })
    expect(unmapped).toMatchObject({ undetermined: 12 })
    expect(unmapped.changes[0]?.error).toBe('the submission is no longer mapped to a client')
    await runSql(db, sql`delete from changes where submission_id = ${IDS[0] ?? ''}`)
    const gone = await ask({ db, verify, request: { repair: true } })
    expect(gone).toMatchObject({ undetermined: 1, has: 11 })
    expect(gone.changes[0]?.error).toBe('the change is no longer in the change log')
    expect(asked).toHaveLength(11)
  })
})
