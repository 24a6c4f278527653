import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { Outcome, PushItem } from '../../../src/push/contract/delivery.ts'
import { localFailure } from '../../../src/push/contract/outcomes.ts'
import { setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { claimStreams } from '../../../src/store/outbox/work.ts'
import { onSqlite, runSql } from '../../tools/databases.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { delivered, lost, type TestKind, testKind } from '../kind.ts'
import { streamsIn } from '../outbox.ts'
import { PushRig, webhookTo } from '../rig.ts'

const event = (n: number, s = 0) => observedEvent('default', uuid(9, s), wireEvent(n))
/** A second delivery would do harm. */
const once = webhookTo('http://unused.example', { idempotent: false, entities: ['market_events'], concurrency: 4 })

async function rigWith(database: (typeof onSqlite)[number], kind: TestKind, over: Parameters<typeof webhookTo>[1] = {}) {
  const rig = await PushRig.open(database)
  const destination = { ...once, ...over }
  await rig.begin(destination)
  const start = (graceMs = 4_000) => rig.start([destination], { kindOf: () => kind, graceMs })
  const states = async () => (await rig.rows()).map(({ state, attempts, uncertain }) => [state, attempts, uncertain])
  return { rig, start, states, destination }
}

async function statesAfterGrace(
  database: (typeof onSqlite)[number],
  outcomeOf: (item: PushItem) => Outcome,
  idempotent: boolean,
  count = 1,
) {
  const begun = Promise.withResolvers<void>()
  let left = count
  const kind = testKind({
    send: (item, signal) => {
      left -= 1
      if (left === 0) begun.resolve()
      return new Promise<Outcome>((resolve) => signal.addEventListener('abort', () => resolve(outcomeOf(item))))
    },
  })
  const { rig, start, states } = await rigWith(database, kind, { idempotent })
  const running = start(1_600)
  await rig.apply(Array.from({ length: count }, (_, n) => event(n + 1, n)))
  await begun.promise
  await running.stop()
  expect((await streamsIn(rig.db)).filter(({ lease_token: token }) => token !== null)).toEqual([])
  return (await states()).sort()
}

async function halfClaimed(database: (typeof onSqlite)[number], kind: TestKind): ReturnType<typeof rigWith> {
  const made = await rigWith(database, kind)
  const { rig, start, destination } = made
  await setDestinationState(rig.db, destination.name, 'paused', 'a test fills the outbox')
  const first = start()
  await rig.apply([event(1), event(2, 1)])
  await rig.until('rows are there', async () => (await rig.rows()).length === 2)
  await first.stop()
  await setDestinationState(rig.db, destination.name, 'active', null)
  const claim = { streams: 1, rowsPerStream: 1, leaseMs: 600_000, uncertain: true }
  expect(await claimStreams(rig.db, 'ams', claim)).toHaveLength(1)
  return made
}

describe.each(onSqlite)('a destination that is not idempotent, on $name', (database) => {
  it('a row with an unknown outcome is held for a person and never repeated', async () => {
    const kind = testKind({ send: ({ seq }) => (seq === 2 ? lost : delivered) })
    const { rig, start, states } = await rigWith(database, kind)
    start()
    await rig.apply([event(1), event(2)])
    await rig.until('one is unknown', async () => (await rig.destination()).unknown === 1)
    await rig.apply([event(3)])
    await rig.until('the stream went on', () => rig.isEmpty())
    expect(kind.calls.flat().filter((seq) => seq === 2)).toHaveLength(1)
    expect(await states()).toContainEqual(['unknown', 1, 1])
    const number = (await rig.rows()).find(({ state }) => state === 'unknown')?.outbox_id
    const logged = rig.lines.filter((line) => /message \S+ to destination \S+ may have arrived/.test(line))
    expect(logged).toEqual([
      expect.stringContaining(
        `If it is missing, run \`submission-mirror outbox retry ${number}\`; if it arrived, \`submission-mirror outbox skip ${number}\``,
      ),
    ])
  })

  it('a row is looked up first where that is possible, and sent again only when it is not there', async () => {
    const tries = new Map<number, number>()
    const arrived = new Set<number>()
    const kind = testKind({
      send: ({ seq }) => {
        const n = (tries.get(seq) ?? 0) + 1
        tries.set(seq, n)
        // The answers to the first attempts are lost; every second message arrived anyway.
        if (n === 1 && seq % 2 === 0) arrived.add(seq)
        if (n === 1) return lost
        arrived.add(seq)
        return delivered
      },
      lookUp: ({ seq }) => (arrived.has(seq) ? { ...delivered, remoteId: `r-${seq}` } : null),
    })
    const { rig, start } = await rigWith(database, kind)
    start()
    await rig.apply(Array.from({ length: 6 }, (_, n) => event(n, n)))
    await rig.until('all is delivered', () => rig.isEmpty())
    for (const [seq, n] of tries) expect([seq, n]).toEqual([seq, seq % 2 === 0 ? 1 : 2])
    expect(kind.looked.length).toBe(tries.size)
    const ids = await rig.db.read.sql.selectFrom('sync_remote_ids').select('remote_id').execute()
    expect(ids).toHaveLength([...tries.keys()].filter((seq) => seq % 2 === 0).length)
  })

  it('a lookup that finds nothing counts only after lookup_after, so that a target whose search lags gets one record', async () => {
    const sentTo = new Set<number>()
    let lookups = 0
    const kind = testKind({
      lookupAfterMs: 3_600_000,
      send: ({ seq }) => {
        sentTo.add(seq)
        return seq === 2 ? lost : delivered
      },
      // The search shows a record from the second lookup on.
      lookUp: () => (++lookups < 2 ? null : { ...delivered, remoteId: 'r-1' }),
    })
    const { rig, start, states } = await rigWith(database, kind, { scheduleMs: [10, 10] })
    const running = start()
    await rig.apply([event(1)])
    await rig.until('it was looked up', async () => lookups === 1 && (await rig.rows())[0]?.error?.includes('`lookup_after`') === true)
    // The next change of the submission waits behind it.
    await rig.apply([event(2)])
    await rig.until('both are queued', async () => (await states()).length === 2)
    expect(await states()).toContainEqual(['ready', 1, 1])
    await running.stop()
    await runSql(rig.db, sql`update sync_push_streams set due_at = ${'2026-01-01T00:00:00.000000Z'}`)
    start()
    await rig.until('all is delivered', () => rig.isEmpty())
    expect([kind.calls.flat().filter((seq) => seq === 2).length, lookups, sentTo.size]).toEqual([1, 2, 2])
  })

  it('a row that is not found after lookup_after is sent again, and not earlier', async () => {
    const attempts: number[] = []
    const kind = testKind({
      lookupAfterMs: 2_000,
      send: () => (attempts.push(Date.now()) === 1 ? lost : delivered),
      lookUp: () => null,
    })
    const { rig, start } = await rigWith(database, kind, { scheduleMs: [10, 10] })
    start()
    await rig.apply([event(1)])
    await rig.until('it is delivered', () => rig.isEmpty())
    const [first = 0, second = 0] = attempts
    expect([attempts.length, kind.looked.length > 0]).toEqual([2, true])
    // The wait counts from the claim, so a slow machine may send again up to a second earlier than from the first attempt.
    expect(second - first).toBeGreaterThan(1_000)
  })

  it('an event that was deleted by hand and came back is not sent again to a target that has it', async () => {
    const kind = testKind({ send: () => ({ ...delivered, remoteId: 'n-1' }) })
    const { rig, start, states } = await rigWith(database, kind)
    start()
    await rig.apply([event(1)])
    await rig.until('it is delivered', async () => (await states()).length === 1 && (await rig.isEmpty()))
    await rig.db.write('test', (tx) => tx.sql.deleteFrom('market_events').execute())
    await rig.apply([event(1)])
    await rig.until('both are settled', async () => (await states()).length === 2 && (await rig.isEmpty()))
    expect(kind.calls).toHaveLength(1)
    expect(await rig.rows()).toMatchObject([
      { state: 'delivered' },
      { state: 'skipped', error: 'not sent: the destination already has this record, as n-1' },
    ])
  })

  it('a row whose lookup fails is never sent, and finally unknown', async () => {
    const away: Outcome = { type: 'failed', permanent: false, alive: true, status: 500, error: 'answered 500', retryAfterMs: null }
    const kind = testKind({ send: () => lost, lookUp: () => away })
    const { rig, start, states } = await rigWith(database, kind, { scheduleMs: [10, 10] })
    start()
    await rig.apply([event(1)])
    await rig.until('it is unknown', async () => (await rig.destination()).unknown === 1)
    expect([kind.calls.length, kind.looked.length]).toEqual([1, 2])
    expect(await states()).toEqual([['unknown', 3, 1]])
  })

  it('an attempt of a process that died is not repeated', async () => {
    const kind = testKind()
    const { rig, start, states } = await halfClaimed(database, kind)
    await runSql(rig.db, sql`update sync_push_streams set due_at = ${'2026-01-01T00:00:00.000000Z'}`)
    start()
    await rig.until('both are settled', async () => (await rig.destination()).queued === 0)
    expect(kind.calls).toHaveLength(1)
    expect((await states()).sort()).toEqual([
      ['delivered', 1, 0],
      ['unknown', 1, 1],
    ])
    expect((await rig.rows()).find(({ state }) => state === 'unknown')?.error).toMatch(
      /^the change may have been sent by a process that died, or before a backup was restored; /,
    )
  })

  it('a stop begins nothing new and waits for attempts in flight, so that none becomes unknown', async () => {
    const begun = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    const kind = testKind({
      send: async () => {
        begun.resolve()
        await answer.promise
        return delivered
      },
    })
    const { rig, start, states } = await rigWith(database, kind, { concurrency: 1 })
    const running = start()
    await rig.apply([event(1, 1), event(2, 2), event(3, 3)])
    await begun.promise
    const stopped = running.stop()
    answer.resolve()
    await stopped
    expect(kind.calls).toHaveLength(1)
    expect((await states()).sort()).toEqual([
      ['delivered', 1, 0],
      ['ready', 0, 0],
      ['ready', 0, 0],
    ])
    start()
    await rig.until('the rest is delivered', () => rig.isEmpty())
    expect((await rig.rows()).every((row) => row.state === 'delivered' && row.attempts === 1)).toBe(true)
  })

  it('an attempt in progress at the end of the grace period is unknown immediately, not at some later start', async () => {
    expect(await statesAfterGrace(database, () => lost, false)).toEqual([['unknown', 1, 1]])
  })

  it('a row that still waits at the end of the grace, for a token for instance, uses up no attempt', async () => {
    expect(await statesAfterGrace(database, () => localFailure('sending was stopped before this request', false), false)).toEqual([
      ['ready', 0, 0],
    ])
  })
})

// Only on SQLite is a process alone with its database.
it.each(onSqlite)('an attempt of a killed process, the only one there is, continues immediately, on $name', async (database) => {
  const kind = testKind()
  const { rig, start, states } = await halfClaimed(database, kind)
  start()
  await rig.until('both are settled', async () => (await rig.destination()).queued === 0)
  expect((await states()).map(([state]) => state).sort()).toEqual(['delivered', 'unknown'])
})

describe.each(onSqlite)('an idempotent destination, on $name', (database) => {
  it('a hanging attempt is aborted at the end of the grace, and does not count', async () => {
    expect(await statesAfterGrace(database, () => lost, true)).toEqual([['ready', 0, 0]])
  })

  it('an attempt that ends after the grace keeps its outcome', async () => {
    const refused: Outcome = { type: 'failed', permanent: true, alive: true, status: 422, error: 'answered 422', retryAfterMs: null }
    const outcomeOf = ({ submissionId }: PushItem) => (submissionId === uuid(9, 0) ? delivered : refused)
    expect(await statesAfterGrace(database, outcomeOf, true, 2)).toEqual([
      ['delivered', 1, 0],
      ['ready', 1, 0],
    ])
  })

  it('a lost answer is a failed attempt', async () => {
    let n = 0
    const kind = testKind({ send: () => (n++ === 0 ? lost : delivered) })
    const { rig, start, states } = await rigWith(database, kind, { idempotent: true })
    start()
    await rig.apply([event(1)])
    await rig.until('it is delivered', () => rig.isEmpty())
    expect(await states()).toEqual([['delivered', 2, 0]])
  })
})
