import type { ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { HttpDestination } from '../../../src/config/config.ts'
import { setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { retryRows } from '../../../src/store/outbox/retry.ts'
import { onSqlite, testDatabases } from '../../tools/databases.ts'
import { changesOf } from '../../tools/mirror.ts'
import { observedEvent, observedState, uuid, wireEvent, wireLane, wireRequirements } from '../../tools/observations.ts'
import { endEvaluators } from '../http/evaluators.ts'
import { destinationTo } from '../http/support.ts'
import { startReceiver, takesAll } from '../receiver.ts'
import { PushRig, webhookTo } from '../rig.ts'

const event = (n: number, submission: number) => observedEvent('default', uuid(9, submission), wireEvent(n))
const many = (count: number, submissionOf: (n: number) => number) => Array.from({ length: count }, (_, n) => event(n, submissionOf(n)))

describe.each(testDatabases)('on $name', (database) => {
  it('a destination that is removed with 1,000 waiting changes gets them and all later ones, once and in order, when it is configured again', async () => {
    const rig = await PushRig.open(database)
    const [ams, other] = [await startReceiver(), await startReceiver()]
    const [removed, stays] = [webhookTo(ams.url), webhookTo(other.url, { name: 'other' })]
    await rig.begin(removed, stays)
    await setDestinationState(rig.db, 'ams', 'paused', 'a test')
    const first = rig.start([removed, stays])
    await rig.apply(many(1_000, (n) => n % 20))
    await rig.until('all is queued', async () => (await rig.destination()).queued >= 1_000 && (await rig.isEmpty('other')))
    await first.stop()
    const second = rig.start([stays])
    await rig.apply([event(5_000, 1), event(5_001, 2)])
    await rig.until('the other one goes on', () => rig.isEmpty('other'))
    await second.stop()
    expect(ams.taken).toEqual([])
    await setDestinationState(rig.db, 'ams', 'active', null)
    rig.start([removed, stays])
    await rig.until('all is delivered', () => rig.isEmpty())
    const changes = await changesOf(rig.db)
    for (const stream of new Set(changes.map(({ submission_id }) => submission_id))) {
      const seqs = ams.taken.filter(({ data }) => data.submission_id === stream).map(({ data }) => data.seq)
      expect(seqs).toEqual(changes.filter(({ submission_id }) => submission_id === stream).map(({ seq }) => seq))
    }
  })

  it('a row that is retried a second time has all its attempts again, under the same id', async () => {
    const rig = await PushRig.open(database)
    const refuses = (_: unknown, response: ServerResponse) => void response.writeHead(400).end()
    const receiver = await startReceiver(refuses)
    const destination = webhookTo(receiver.url, { entities: ['market_events'] })
    await rig.push(destination)
    await rig.apply([event(1, 1)])
    for (const attempts of [3, 6, 9]) {
      await rig.until(`it is dead after ${attempts}`, async () => (await rig.destination()).dead === 1)
      expect(receiver.arrived).toHaveLength(attempts)
      expect(await rig.rows()).toMatchObject([{ state: 'dead', attempts: 3 }])
      if (attempts === 9) receiver.behave(takesAll)
      expect(await retryRows(rig.db, { destination: 'ams' }, 0, 10)).toMatchObject({ changed: 1, inFlight: 0 })
    }
    await rig.until('it is delivered', () => rig.isEmpty())
    expect(new Set(receiver.arrived.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(await rig.rows()).toMatchObject([{ state: 'delivered', attempts: 1, error: null }])
  })

  it('sends a gone record with only `gone_at`', async () => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver()
    const show = (numbers: number[], read: number) => {
      const lanes = numbers.map((n) => wireLane(n))
      return rig.apply([observedState('default', uuid(9, 1), wireRequirements(uuid(9, 1), lanes), read)])
    }
    await show([1, 2, 3], 1)
    await rig.push(webhookTo(receiver.url))
    await show([], 2)
    await rig.until('all is delivered', async () => (await rig.isEmpty()) && receiver.taken.length > 0)
    const lanes = receiver.taken.filter(({ data }) => data.entity === 'lanes')
    expect(lanes.map(({ type, data }) => [type, data.before, Object.keys(data.after ?? {})])).toEqual(
      Array.from({ length: 3 }, () => ['lanes.gone', { gone_at: null }, ['gone_at']]),
    )
  })
})

describe.each(onSqlite)('on $name', (database) => {
  it('a destination whose templates or filter get no process delays no other one', async () => {
    const rig = await PushRig.open(database)
    const [ams, own] = [await startReceiver(), await startReceiver()]
    await endEvaluators()
    const { execPath } = process
    process.execPath = '/no/such/file'
    onTestFinished(() => void Object.assign(process, { execPath }))
    const base = destinationTo(own.url, { accounts: ['default'] })
    const templated: HttpDestination = { ...base, name: 'templated', scheduleMs: [86_400_000] }
    const filtered = webhookTo(own.url, { name: 'filtered', filter: 'true' })
    const fine = webhookTo(ams.url)
    await rig.begin(fine, templated, filtered)
    rig.start([templated, filtered, fine])
    await rig.apply(many(20, (n) => n % 4))
    await rig.until('the other one has all', () => rig.isEmpty())
    await rig.until('one was tried', async () => (await rig.rows()).some((row) => row.destination === 'templated' && row.attempts > 0))
    expect(own.arrived).toEqual([])
    const rows = (await rig.rows()).filter((row) => row.destination === 'templated')
    expect(rows.every(({ state, uncertain }) => state === 'ready' && uncertain === 0)).toBe(true)
    expect(rows.map(({ error }) => error).filter(Boolean)[0]).toContain('templates cannot be evaluated')
    expect(await rig.destination('filtered')).toMatchObject({ queued: 0, state: 'active', filter_error: null })
    expect(rig.lines.some((line) => line.includes('fan-out to filtered failed'))).toBe(true)
  })

  it('a submission with 10,000 changes for a target that does not answer delays no other, with one attempt in progress', async () => {
    const rig = await PushRig.open(database)
    const slow = uuid(9, 1)
    const receiver = await startReceiver((request, _, take) => {
      if (!request.body.includes(slow)) take()
    })
    const destination = webhookTo(receiver.url, { entities: ['market_events'] })
    await rig.begin(destination)
    for (let from = 0; from < 10_000; from += 1_000) await rig.apply(Array.from({ length: 1_000 }, (_, n) => event(from + n, 1)))
    rig.start([destination], { graceMs: 1 })
    const isSending = async () => (await rig.destination()).queued === 10_000 && receiver.arrived.length > 0
    await rig.until('all is queued, and the first is sent', isSending)
    await rig.apply(Array.from({ length: 30 }, (_, n) => event(20_000 + n, 2 + (n % 10))))
    await rig.until('the others are delivered', () => receiver.taken.length === 30)
    expect(receiver.arrived.filter(({ body }) => body.includes(slow))).toHaveLength(1)
  })
})
