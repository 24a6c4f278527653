import { describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { clockSkewMs } from '../../src/upstream/http/answer.ts'
import { readServiceClock } from '../../src/upstream/service-clock.ts'
import { Counts } from '../tools/counts.ts'
import { clientOf, json, startService, withTokens } from './service.ts'

const START = Date.UTC(2026, 0, 5, 12)

describe('the clock skew', () => {
  it("compares an answer's date with the middle of its duration", () => {
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

  it('is measured by every answer, follows changes of our clock, and expires after an hour', async () => {
    const ahead = { ms: 0, passedMs: 0 }
    const clock: Clock = {
      ...systemClock,
      now: () => START + ahead.ms + ahead.passedMs,
      steady: () => ahead.passedMs,
      async sleep(ms) {
        ahead.passedMs += ms
      },
    }
    const seconds = (ms: number | null) => Math.floor((ms ?? 0) / 1_000)
    const date = new Date(START + 120_000).toUTCString()
    const service = await startService(withTokens((_, response) => json(response, {}, 500, { date })))
    const counts = new Counts()
    const client = clientOf(service, { observer: counts, clock })
    expect(client.clockSkewMs()).toBeNull()
    await client.me().catch(() => undefined)
    expect(seconds(client.clockSkewMs())).toBe(120)
    const gauge = [...counts.gauges].find(([name]) => name.startsWith('clock_skew_seconds'))
    expect(Math.floor(gauge?.[1] ?? 0)).toBe(120)
    ahead.ms = 86_400_000
    expect(seconds(client.clockSkewMs())).toBe(120 - 86_400)
    ahead.passedMs += 3_600_001
    expect(client.clockSkewMs()).toBeNull()
  })

  it('is measured by one request without credentials', async () => {
    let date = ''
    const service = await startService((_, response) => json(response, {}, 401, { date }))
    const clock: Clock = { ...systemClock, now: () => START }
    const aheadMs = async (said: string) => {
      date = said
      return (await readServiceClock(service.baseUrl, {}, clock, new AbortController().signal)).aheadMs
    }
    expect(await aheadMs(new Date(START - 90_000).toUTCString())).toBe(89_500)
    expect(await aheadMs(new Date(START + 90_000).toUTCString())).toBe(-90_500)
    for (const none of ['12', 'yesterday']) expect(await aheadMs(none)).toBeNull()
  })
})
