import { describe, expect, it } from 'vitest'
import { attemptsGraceMs } from '../../../src/push/send/sender.ts'
import { setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { storeMappings } from '../../../src/store/outbox/push-map.ts'
import { onSqlite, testDatabases } from '../../tools/databases.ts'
import { observedEvent, observedMessage, uuid, wireEvent, wireMessage } from '../../tools/observations.ts'
import { destinationTo, serve } from '../http/support.ts'
import { streamsIn } from '../outbox.ts'
import { type Behavior, startReceiver, takesAll } from '../receiver.ts'
import { PushRig, webhookTo } from '../rig.ts'

const submission = (n: number) => uuid(9, n)
const event = (n: number, s = 0) => observedEvent('default', submission(s), wireEvent(n))

/** What a message is about: the numbers of its submission and of the change. */
function place({ data }: { data: { submission_id: string | null; seq: number } }): string {
  return `${data.submission_id?.slice(-1)}/${data.seq}`
}

const sorted = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)

it.each([
  [25_000, 23_500],
  [2_000, 1_500],
  [100, 75],
])('of a grace period of %i ms attempts in progress get %i', (graceMs, triesMs) => {
  expect(attemptsGraceMs(graceMs)).toBe(triesMs)
})

describe.each(testDatabases)('a sender on $name', (database) => {
  it('delivers every change once, in the order of its submission, and stores the result', async () => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver()
    await rig.push(webhookTo(receiver.url))
    for (let n = 0; n < 20; n++) {
      await rig.apply([event(n, n % 4), observedMessage('default', submission(n % 4), wireMessage(n))])
    }
    await rig.until('all is delivered', () => rig.isEmpty())
    const changes = await rig.db.read.sql.selectFrom('changes').select('seq').orderBy('seq').execute()
    expect(sorted(receiver.taken.map(({ data }) => data.seq))).toEqual(changes.map(({ seq }) => seq))
    for (let n = 0; n < 4; n++) {
      const seqs = receiver.taken.filter(({ data }) => data.submission_id === submission(n)).map(({ data }) => data.seq)
      expect(seqs).toEqual(sorted(seqs))
    }
    const rows = await rig.rows()
    expect(rows.every((row) => row.state === 'delivered' && row.attempts === 1 && row.status === 204)).toBe(true)
    expect(rig.counts.of('push_attempts_total ams delivered')).toBe(rows.length)
    expect(await rig.db.read.sql.selectFrom('sync_push_streams').selectAll().execute()).toEqual([])
  })
})

describe.each(onSqlite)('a sender on $name', (database) => {
  it('counts an attempt without an answer as failed when it is repeated: nothing was dead-lettered', async () => {
    const rig = await PushRig.open(database)
    let asked = 0
    const receiver = await startReceiver((_, response, take) => (++asked === 1 ? response.destroy() : take()))
    await rig.push(webhookTo(receiver.url))
    await rig.apply([event(1)])
    await rig.until('all is delivered', () => rig.isEmpty())
    expect(['failed', 'unknown', 'dead'].map((outcome) => rig.counts.of(`push_attempts_total ams ${outcome}`))).toEqual([1, 0, 0])
  })

  it('counts no attempt while the target says "later", and sends each change once when it is ready', async () => {
    const rig = await PushRig.open(database)
    let answers = 0
    const taken: string[] = []
    const target = await serve((request, response) => {
      answers++
      if (answers > 6) taken.push((JSON.parse(request.body) as { id: string }).id)
      response.writeHead(answers > 6 ? 200 : 403).end('{"wait": 0.02}')
    })
    const throttled = 'status = 403 ? body.wait'
    await rig.push(destinationTo(target.baseUrl, { accounts: ['default'], throttled, suspendOn: [403], scheduleMs: [1_000] }))
    await rig.apply([event(1), event(2)])
    await rig.until('all is delivered', () => rig.isEmpty())
    const rows = await rig.rows()
    expect(rows.map(({ state, attempts }) => [state, attempts])).toEqual(rows.map(() => ['delivered', 1]))
    expect(sorted(taken.map((id) => rows.findIndex(({ message_id }) => message_id === id)))).toEqual(rows.map((_, n) => n))
  })

  it('attempts a row again with the same id before the next of its stream, and delays no other stream', async () => {
    const rig = await PushRig.open(database)
    const stuck = new Set([submission(1)])
    const receiver = await startReceiver((request, response, take) => {
      const { data } = JSON.parse(request.body) as { data: { submission_id: string } }
      if (stuck.has(data.submission_id)) response.writeHead(500).end()
      else take()
    })
    await rig.push(webhookTo(receiver.url, { scheduleMs: Array<number>(10).fill(300) }))
    await rig.apply([event(1, 1), event(2, 1), event(3, 2), event(4, 3)])
    await rig.until('the others are delivered', () => new Set(receiver.taken.map(({ data }) => data.submission_id)).size === 2)
    await rig.until('the stuck one was tried twice', () => rig.counts.of('push_attempts_total ams failed') >= 2)
    expect(receiver.taken.every(({ data }) => data.submission_id !== submission(1))).toBe(true)
    stuck.clear()
    await rig.until('all is delivered', () => rig.isEmpty())
    const late = receiver.taken.filter(({ data }) => data.submission_id === submission(1)).map(({ data }) => data.seq)
    expect(late).toEqual(sorted(late))
    const first = receiver.arrived.filter((request) => request.body.includes(submission(1))).slice(0, 3)
    expect(new Set(first.map((request) => request.headers['webhook-id'])).size).toBe(1)
    expect(new Set(first.map((request) => request.body)).size).toBe(1)
  })

  it('dead-letters a rejected row after three attempts, with an alarm; the stream continues, or is held until an operator acts', async () => {
    const rig = await PushRig.open(database)
    const refuses: Behavior = (request, response, take) => {
      if (request.body.includes('"seq":2,')) response.writeHead(422).end('{"error":"no such stream"}')
      else take()
    }
    const [goes, holds] = [await startReceiver(refuses), await startReceiver(refuses)]
    const destinations = [webhookTo(goes.url, { name: 'goes' }), webhookTo(holds.url, { name: 'holds', onDead: 'hold' })]
    await rig.begin(...destinations)
    rig.start(destinations)
    await rig.apply([event(1), event(2), event(3)])
    await rig.until('both have given it up', async () => (await rig.destination('goes')).dead + (await rig.destination('holds')).dead === 2)
    await rig.until('one goes on', () => rig.isEmpty('goes'))
    const rows = await rig.rows()
    const dead = rows.filter(({ state }) => state === 'dead')
    expect(dead.map((row) => [row.destination, row.seq, row.attempts, row.status, row.error])).toEqual(
      ['goes', 'holds'].map((name) => [name, 2, 3, 422, 'answered 422 (no such stream)']),
    )
    expect(goes.taken.map(place)).not.toContain('0/2')
    const after = rows.filter((row) => row.destination === 'holds' && row.seq > 2)
    expect(after.length).toBeGreaterThan(0)
    expect(after.every((row) => row.state === 'ready' && row.attempts === 0)).toBe(true)
    const logged = rig.lines.filter((line) => line.includes('was dead-lettered after 3 attempts'))
    expect(logged).toHaveLength(2)
    const fixes = dead.map(({ outbox_id: n }) => `\`submission-mirror outbox show ${n}\`, then \`outbox retry ${n}\``)
    for (const fix of fixes) expect(logged.filter((line) => line.includes(fix))).toHaveLength(1)
  })

  it.each([
    ['three times, as every refusal', 10, {}, 3],
    ['as often as the schedule says, when that is less', 1, {}, 2],
    ['as often as the schedule says, when it asks for a pause', 4, { 'retry-after': '0' }, 5],
  ])('retries a change that is always answered 422 %s', async (_, waits, headers, tries) => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver((__, response) => response.writeHead(422, headers).end())
    const destination = webhookTo(receiver.url, { entities: ['market_events'], scheduleMs: Array<number>(waits).fill(20) })
    await rig.push(destination)
    await rig.apply([event(1)])
    await rig.until('it is dead', async () => (await rig.destination()).dead === 1)
    const [row] = await rig.rows()
    expect(row).toMatchObject({ state: 'dead', attempts: tries, status: 422 })
    expect(receiver.arrived.map((request) => request.headers['webhook-id'])).toEqual(Array(tries).fill(row?.message_id))
  })

  it('sends nothing to a destination during the pause that it requested, even after a restart', async () => {
    const rig = await PushRig.open(database)
    let busy = true
    const receiver = await startReceiver((_, response, take) => {
      if (busy) response.writeHead(429, { 'retry-after': '2' }).end()
      else take()
    })
    const destination = webhookTo(receiver.url, { concurrency: 1 })
    const running = await rig.push(destination)
    await rig.apply([event(1, 1), event(2, 2), event(3, 3)])
    await rig.until('it asked for a rest', async () => (await rig.destination()).retry_at !== null)
    const askedAt = performance.now()
    await running.stop()
    busy = false
    rig.start([destination])
    await rig.until('all is delivered', () => rig.isEmpty())
    expect(receiver.arrived.filter(({ at }) => at < askedAt)).toHaveLength(1)
    const next = receiver.arrived[1]
    expect((next?.at ?? 0) - (receiver.arrived[0]?.at ?? 0)).toBeGreaterThan(1_900)
    expect((await rig.rows()).filter((row) => row.attempts === 2)).toHaveLength(1)
  })

  it('stops at 410 with an alarm, loses nothing, and continues when an operator resumes', async () => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver((_, response) => response.writeHead(410).end())
    const destination = webhookTo(receiver.url, { concurrency: 1 })
    await rig.push(destination)
    await rig.apply([event(1, 1), event(2, 2)])
    await rig.until('it is suspended', async () => (await rig.destination()).state === 'suspended')
    await rig.apply([event(3, 3)])
    await rig.until('what comes is still queued', async () => (await rig.destination()).queued === (await rig.rows()).length)
    expect(receiver.arrived).toHaveLength(1)
    expect(rig.lines.some((line) => line.includes('destination ams is suspended'))).toBe(true)
    receiver.behave(takesAll)
    await setDestinationState(rig.db, 'ams', 'active', null)
    await rig.until('all is delivered', () => rig.isEmpty())
    expect((await rig.rows()).every((row) => row.state === 'delivered' && row.attempts === 1)).toBe(true)
  })

  it('sends none of the claimed rows after an operator has paused it', async () => {
    const rig = await PushRig.open(database)
    const waiting: (() => void)[] = []
    const receiver = await startReceiver((_, __, take) => void waiting.push(take))
    const running = await rig.push(webhookTo(receiver.url, { concurrency: 1 }))
    await rig.apply(Array.from({ length: 8 }, (_, n) => event(n, n % 2)))
    await rig.until('the first is under way', () => waiting.length === 1)
    await setDestinationState(rig.db, 'ams', 'paused', 'the AMS moves')
    await rig.until('the sender knows', () => rig.lines.some((line) => line.includes('its claimed changes wait')))
    receiver.behave(takesAll)
    waiting.shift()?.()
    await rig.until('the streams are given back', async () => (await streamsIn(rig.db)).every((stream) => stream.lease_token === null))
    expect(receiver.arrived).toHaveLength(1)
    await setDestinationState(rig.db, 'ams', 'active', null)
    await rig.until('all is delivered', () => rig.isEmpty())
    await running.stop()
  })

  it('probes a dead destination with one attempt at a time, and other rows use up no attempt', async () => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver((_, response) => response.writeHead(503).end())
    const destination = webhookTo(receiver.url, { concurrency: 4, scheduleMs: [100, ...Array<number>(9).fill(60_000)] })
    await rig.push(destination)
    await rig.apply(Array.from({ length: 40 }, (_, n) => event(n, n)))
    await rig.until('it is thought dead', () => rig.lines.some((line) => line.includes('did not answer')))
    await rig.until('it was tried again and again', () => receiver.arrived.length >= 11)
    const tries = (await rig.rows()).reduce((sum, row) => sum + row.attempts, 0)
    expect(tries).toBeLessThanOrEqual(receiver.arrived.length)
    // After the fifth failure and three concurrent ones the ninth is the first probe; the pause after it is at least 100 ms.
    const probes = receiver.arrived.slice(8).map(({ at }) => at)
    expect(probes.slice(1).every((at, n) => at - (probes[n] ?? 0) > 90)).toBe(true)
    receiver.behave(takesAll)
    await rig.until('it is found alive', () => rig.lines.some((line) => line.includes('answers again')))
    await rig.until('what was never tried is delivered', async () =>
      (await rig.rows()).every((row) => row.state === 'delivered' || row.attempts > 0),
    )
    expect((await rig.destination()).failures).toBe(0)
  })

  it('holds unmapped rows visibly, and sends them in order once they are mapped', async () => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver()
    const destination = webhookTo(receiver.url, { mapping: 'required' })
    await rig.begin(destination)
    await storeMappings(rig.db, [mapped(2)], 'import')
    rig.start([destination])
    await rig.apply([event(1, 1), event(2, 2), event(3, 1)])
    await rig.until('the mapped one is delivered', () => receiver.taken.some(({ data }) => data.submission_id === submission(2)))
    const states = () => rig.db.read.sql.selectFrom('push_status').select(['submission_id', 'state', 'attempts']).execute()
    await rig.until('the other one is shown', async () => (await states()).some((row) => row.state === 'unmapped'))
    expect(receiver.taken.some(({ data }) => data.submission_id === submission(1))).toBe(false)
    await storeMappings(rig.db, [mapped(1)], 'import')
    await rig.until('all is delivered', () => rig.isEmpty())
    expect((await states()).every((row) => row.state === 'delivered' && row.attempts === 1)).toBe(true)
    const seqs = receiver.taken.filter(({ data }) => data.submission_id === submission(1)).map(({ data }) => data.seq)
    expect(seqs).toEqual(sorted(seqs))
  })

  it('keeps to its rate', async () => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver()
    const rate = 80
    const destination = webhookTo(receiver.url, { rps: rate })
    await rig.push(destination)
    const startedAt = performance.now()
    await rig.apply(Array.from({ length: 30 }, (_, n) => event(n, n)))
    await rig.until('all is delivered', () => rig.isEmpty())
    const tookMs = (receiver.arrived.at(-1)?.at ?? 0) - startedAt
    const changes = receiver.arrived.length
    expect(changes).toBeGreaterThan(rate)
    // A tenth of a second of the rate may have been saved, and the two clocks may differ a little.
    expect(tookMs).toBeGreaterThan(((changes - rate / 10 - 1) / rate) * 1_000 - 50)
  })

  function mapped(n: number) {
    return { destination: 'ams', account: 'default', submissionId: submission(n), client: `client-${n}`, policy: null, fields: {} }
  }
})
