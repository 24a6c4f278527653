import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { createHttp } from '../../../src/push/kinds/http.ts'
import { BatchLoop } from '../../../src/push/send/batch-loop.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { releaseAllStreams } from '../../../src/store/outbox/work.ts'
import { silentLog, sqliteDatabase } from '../../tools/databases.ts'
import { interrupted } from '../../tools/meddled.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { type Service, startService } from '../../upstream/service.ts'
import { destinationTo } from '../http/support.ts'
import { ACCOUNT, destinationOf, fanAll, outboxOf } from '../outbox.ts'
import { sendingOf } from './parts.ts'

/** A target's answers for a change, one per attempt. It rejects every request with a `poison` change as a whole. */
interface Plan {
  readonly stream: number
  readonly before: readonly ('denied' | 'later')[]
  readonly end: 'taken' | 'had' | 'refused' | 'poison'
}

/** The fate of a request as a whole. */
type Fault = 'none' | 'falls' | 'is lost' | 'is answered too short' | 'waits' | 'breaks off'

const plans: fc.Arbitrary<readonly Plan[]> = fc.array(
  fc.record({
    stream: fc.nat(4),
    before: fc.array(fc.constantFrom('denied' as const, 'later' as const), { maxLength: 2 }),
    end: fc.constantFrom('taken' as const, 'taken' as const, 'taken' as const, 'had' as const, 'refused' as const, 'poison' as const),
  }),
  { minLength: 1, maxLength: 14 },
)
const faults: fc.Arbitrary<readonly Fault[]> = fc.array(
  fc.constantFrom<Fault>('none', 'none', 'falls', 'is lost', 'is answered too short', 'waits', 'breaks off'),
  { maxLength: 8 },
)

const hasty: Clock = { ...systemClock, sleep: (_, signal) => systemClock.sleep(1, signal) }

class Target {
  readonly wrong: string[] = []
  readonly ended: number[] = []
  readonly #plans: readonly Plan[]
  readonly #said: number[]
  readonly #faults: Fault[]

  constructor(of: readonly Plan[], faultsOf: readonly Fault[]) {
    this.#plans = of
    this.#said = of.map(() => 0)
    this.#faults = [...faultsOf]
  }

  start(): Promise<Service> {
    return startService(({ body }, response) => {
      const { places } = JSON.parse(body) as { places: number[] }
      const fault = this.#faults.shift() ?? 'none'
      if (fault === 'breaks off') return response.socket?.destroy()
      if (fault === 'falls') return response.writeHead(500).end()
      if (fault === 'waits') return response.writeHead(429).end()
      this.#check(places)
      if (places.some((place) => this.#plans[place]?.end === 'poison')) return response.writeHead(400).end()
      const results = places.map((place) => this.#say(place))
      if (fault === 'is lost') return response.socket?.destroy()
      return response.end(JSON.stringify(fault === 'is answered too short' ? results.slice(1) : results))
    })
  }

  /** One change of a submission, and none before those in front of it have ended. */
  #check(places: readonly number[]): void {
    const streams = places.map((place) => this.#plans[place]?.stream)
    if (new Set(streams).size < streams.length) this.wrong.push(`${places} holds two changes of a submission`)
    for (const place of places)
      this.#plans.forEach(({ stream, end }, earlier) => {
        const isBefore = earlier < place && stream === this.#plans[place]?.stream && end !== 'poison'
        if (isBefore && !this.ended.includes(earlier)) this.wrong.push(`${place} came before ${earlier}`)
      })
  }

  #say(place: number): object {
    const { before = [], end } = this.#plans[place] ?? {}
    const said = before[this.#said[place] ?? 0]
    this.#said[place] = (this.#said[place] ?? 0) + 1
    if (said === 'denied') return { ok: false, error: 'not now' }
    if (said === 'later') return { throttled: 0.001 }
    if (!this.ended.includes(place)) this.ended.push(place)
    if (end === 'refused') return { refused: true, error: 'never' }
    return end === 'had' ? { duplicate: true } : { ok: true }
  }
}

async function live(db: Db, url: string, max: number, killedAt: number): Promise<void> {
  let settles = 0
  let isKilled = false
  const mortal = interrupted(db, async (name) => {
    if (name === 'outbox-settle' && ++settles === killedAt) isKilled = true
    const isOver = name === 'outbox-claim' && (await outboxOf(db)).every(({ state }) => state !== 'ready')
    if (isKilled || isOver) throw new Error('it is over')
  })
  const destination = destinationTo(url, {
    accounts: [ACCOUNT],
    idempotent: true,
    personalFields: ['market_events.detail'],
    // Enough that temporary failures dead-letter no change.
    scheduleMs: Array(60).fill(1),
    request: { method: 'POST', url: 'settings.base_url', headers: {}, format: 'json', body: '{"places": [items.($number(after.detail))]}' },
    batch: { max, result: 'body', by: null },
    throttled: 'status = 429 ? 0.001',
  })
  const kind = createHttp(destination, { clock: systemClock, log: silentLog, proxy: {} })
  if (kind.batch.type === 'one') throw new Error('it sends one at a time')
  try {
    await expect(new BatchLoop(sendingOf(mortal, destination, kind, hasty), kind.batch).run()).rejects.toThrow('it is over')
  } finally {
    await kind.close()
  }
  await releaseAllStreams(db, destination.name)
}

it('every change of a batch ends as its own answers say, in the order of its submission, despite any faults and kills', async () => {
  const property = fc.asyncProperty(
    plans,
    faults,
    fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }),
    fc.integer({ min: 1, max: 6 }),
    async (of, faultsOf, kills, max) => {
      const opened = await sqliteDatabase.open()
      const target = new Target(of, faultsOf)
      const service = await target.start()
      try {
        const { db } = opened
        const observations = of.map(({ stream }, place) =>
          observedEvent(ACCOUNT, uuid(9, stream), wireEvent(place + 1, { detail: String(place) })),
        )
        for (const observation of observations) await applyAll(db, [observation])
        await fanAll(db, [destinationOf('ams', { entities: ['market_events'] })])
        for (const killedAt of [...kills, 0]) await live(db, service.baseUrl, max, killedAt)
        const rows = await outboxOf(db)
        expect(rows.map(({ state }) => state)).toEqual(of.map(({ end }) => (end === 'refused' || end === 'poison' ? 'dead' : 'delivered')))
        expect(target.wrong).toEqual([])
      } finally {
        await service.close()
        await opened.close()
      }
    },
  )
  await fc.assert(property, { numRuns: 20 })
})
