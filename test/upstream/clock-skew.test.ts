import { describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { clockSkewMs } from '../../src/upstream/http/answer.ts'
import { readServiceClock } from '../../src/upstream/service-clock.ts'
import { Counts, clientOf, json, startService, withTokens } from './service.ts'

const START = Date.UTC(2026, 0, 5, 12)

describe('the clocks of both sides', () => {
  it('are compared by the date of an answer, in the middle of the time that it took', () => {
    const date = (ms: number) => ({ date: new Date(ms).toUTCString() })
    expect(clockSkewMs(date(START), START, START + 1_000)).toBe(0)
    expect(clockSkewMs(date(START + 90_000), START, START)).toBe(90_500)
    expect(clockSkewMs(date(START - 90_000), START, START)).toBe(-89_500)
    expect([{}, { date: 'yesterday' }, { date: '12' }].map((headers) => clockSkewMs(headers, START, START))).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('are known from every answer, refusals too, go along when our clock is set, and are forgotten after an hour', async () => {
    const ahead = { ms: 0, passedMs: 0 }
    const clock: Clock = { ...systemClock, now: () => Date.now() + ahead.ms, steady: () => performance.now() + ahead.passedMs }
    const inTwoMinutes = () => ({ date: new Date(Date.now() + 120_000).toUTCString() })
    const service = await startService(withTokens((_, response) => json(response, {}, 500, inTwoMinutes())))
    const counts = new Counts()
    const client = clientOf(service, { observer: counts, clock })
    expect(client.clockSkewMs()).toBeNull()
    await client.me().catch(() => undefined)
    expect(Math.abs((client.clockSkewMs() ?? 0) - 120_000)).toBeLessThan(2_000)
    const gauge = [...counts.gauges].find(([name]) => name.startsWith('clock_skew_seconds'))
    expect(Math.abs((gauge?.[1] ?? 0) - 120)).toBeLessThan(2)
    ahead.ms = 86_400_000
    expect(Math.abs((client.clockSkewMs() ?? 0) - 120_000 + 86_400_000)).toBeLessThan(2_000)
    ahead.passedMs = 3_600_001
    expect(client.clockSkewMs()).toBeNull()
  })

  it('are told by one question, without credentials, when the date can be read', async () => {
    let date = ''
    const service = await startService((_, response) => json(response, {}, 401, { date }))
    const clock: Clock = { ...systemClock, now: () => START }
    const aheadMs = async (said: string) => {
      date = said
      return (await readServiceClock(service.baseUrl, {}, clock, AbortSignal.timeout(10_000))).aheadMs
    }
    expect(await aheadMs(new Date(START - 90_000).toUTCString())).toBe(89_500)
    expect(await aheadMs(new Date(START + 90_000).toUTCString())).toBe(-90_500)
    for (const none of ['12', 'yesterday']) expect(await aheadMs(none)).toBeNull()
  })
})
