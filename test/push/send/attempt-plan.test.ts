import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import type { Outcome } from '../../../src/push/contract/delivery.ts'
import { type PlanContext, planAttempt, planNotAttempted } from '../../../src/push/send/attempt-plan.ts'

const clock = new ManualClock(0, () => 0.5)
const scheduleMs = [5_000, 300_000, 1_800_000]
const row = { outboxId: 7, attempts: 0, status: null, uncertain: false, progress: null, changedAt: '1970-01-01T00:00:00.000000Z' }
const DELIVERED: Outcome = { type: 'delivered', status: 201, remoteId: 'r-1', detail: null }
const UNKNOWN: Outcome = { type: 'unknown', error: 'no answer (ECONNRESET)' }

function failed(over: Partial<Extract<Outcome, { type: 'failed' }>> = {}): Outcome {
  return { type: 'failed', permanent: false, alive: true, status: 500, error: 'answered 500', retryAfterMs: null, ...over }
}

function context(over: Partial<PlanContext['destination']> = {}, canLookUp = false): PlanContext {
  return { destination: { idempotent: true, onDead: 'continue', scheduleMs, ...over }, clock, canLookUp }
}

describe('the plan after an attempt', () => {
  test('a delivered row is done, and its stream continues', () => {
    expect(planAttempt(row, DELIVERED, context())).toEqual({
      row: {
        outboxId: 7,
        state: 'delivered',
        attempts: 1,
        uncertain: false,
        status: 201,
        detail: null,
        error: null,
        progress: null,
        remoteId: 'r-1',
      },
      stream: { type: 'go_on' },
    })
  })

  test('a record that was taken is stored before anything else is sent, and kept until all is delivered', () => {
    const progress = { step: 'record_taken', answered: 'request', origin: 'http://ams', body: '{}', isWhole: true, detail: null } as const
    const begun = planAttempt({ ...row, uncertain: true }, { type: 'record_taken', status: 201, remoteId: 'r-1', progress }, context())
    expect(begun).toMatchObject({
      row: { state: 'ready', attempts: 0, uncertain: false, progress, remoteId: 'r-1' },
      stream: { type: 'due', inMs: 0 },
    })
    for (const outcome of [failed(), UNKNOWN, failed({ permanent: true, isFinal: true })])
      expect(planAttempt({ ...row, progress }, outcome, context()).row.progress).toEqual(progress)
    expect(planNotAttempted({ ...row, progress }).row.progress).toEqual(progress)
    expect(planAttempt({ ...row, progress }, DELIVERED, context()).row.progress).toBeNull()
  })

  test('a failed row is attempted again after the time in the schedule, with jitter, or after Retry-After', () => {
    expect(planAttempt(row, failed(), context())).toMatchObject({
      row: { state: 'ready', attempts: 1 },
      stream: { type: 'due', inMs: 5_000 },
    })
    expect(planAttempt({ ...row, attempts: 1 }, failed(), context()).stream).toEqual({ type: 'due', inMs: 300_000 })
    const waits = [0, 0.999].map((chance) => {
      const jittered = { ...context(), clock: new ManualClock(0, () => chance) }
      return planAttempt(row, failed(), jittered).stream
    })
    expect(waits).toEqual([
      { type: 'due', inMs: 4_500 },
      { type: 'due', inMs: 5_499 },
    ])
    expect(planAttempt(row, failed({ retryAfterMs: 60_000 }), context()).stream).toEqual({ type: 'due', inMs: 60_000 })
    expect(planAttempt(row, failed({ retryAfterMs: 1 }), context()).stream).toEqual({ type: 'due', inMs: 5_000 })
  })

  test('a rejected message is dead after three attempts, any other after one more than the schedule has times', () => {
    const refused = failed({ permanent: true, status: 422 })
    expect(planAttempt({ ...row, attempts: 1 }, refused, context()).row.state).toBe('ready')
    expect(planAttempt({ ...row, attempts: 2, status: 422 }, refused, context()).row).toMatchObject({ state: 'dead', attempts: 3 })
    expect(planAttempt({ ...row, attempts: 2, status: 500 }, failed(), context()).row.state).toBe('ready')
    expect(planAttempt({ ...row, attempts: 2 }, failed({ alive: false, status: null }), context()).row.state).toBe('ready')
    const last = { state: 'dead', attempts: 4, error: 'answered 500' }
    expect(planAttempt({ ...row, attempts: 3 }, failed(), context()).row).toMatchObject(last)
  })

  test('a rejection that the settings call final is dead immediately, unless an earlier attempt may have arrived', () => {
    const final = failed({ permanent: true, isFinal: true, status: 200 })
    expect(planAttempt(row, final, context()).row).toMatchObject({ state: 'dead', attempts: 1 })
    expect(planAttempt(row, final, context({ idempotent: false }, true), true).row).toMatchObject({ state: 'ready', uncertain: true })
  })

  test('a throttled row waits for the requested time, and its attempt does not count', () => {
    const later: Outcome = { type: 'throttled', status: 403, error: 'it answered 403', retryAfterMs: 90_000 }
    for (const attempts of [0, 9])
      expect(planAttempt({ ...row, attempts }, later, context())).toMatchObject({
        row: { state: 'ready', attempts, uncertain: false, status: 403, error: 'it answered 403' },
        stream: { type: 'due', inMs: 90_000 },
      })
  })

  test('after a dead letter the stream continues or is held', () => {
    const last = { ...row, attempts: 3 }
    expect(planAttempt(last, failed(), context()).stream).toEqual({ type: 'due', inMs: 0 })
    expect(planAttempt(last, failed(), context({ onDead: 'hold' })).stream).toEqual({ type: 'blocked', as: 'held' })
  })

  test('an unknown outcome is attempted again if that is harmless, even if the message was rejected before', () => {
    expect(planAttempt(row, UNKNOWN, context())).toMatchObject({ row: { state: 'ready', attempts: 1, uncertain: false } })
    const planned = (attempts: number) => planAttempt({ ...row, attempts, status: 422 }, UNKNOWN, context()).row
    expect(planned(2)).toMatchObject({ state: 'ready', attempts: 3 })
    expect(planned(3)).toMatchObject({ state: 'dead', attempts: 4 })
  })

  test('elsewhere it is held for a person, or looked up', () => {
    const once = { idempotent: false } as const
    expect(planAttempt(row, UNKNOWN, context(once))).toMatchObject({
      row: { state: 'unknown', attempts: 1, uncertain: true },
      stream: { type: 'due', inMs: 0 },
    })
    expect(planAttempt(row, UNKNOWN, context({ ...once, onDead: 'hold' })).stream).toEqual({ type: 'blocked', as: 'held' })
    const answered = { ...UNKNOWN, status: 500 }
    for (const canLookUp of [false, true]) expect(planAttempt(row, answered, context(once, canLookUp)).row.status).toBe(500)
    const rested = { ...UNKNOWN, retryAfterMs: 60_000 }
    expect(planAttempt(row, rested, context(once, true)).stream).toEqual({ type: 'due', inMs: 60_000 })
    expect(planAttempt(row, UNKNOWN, context(once, true))).toMatchObject({
      row: { state: 'ready', uncertain: true },
      stream: { inMs: 5_000 },
    })
  })

  test('a failed lookup leaves the row uncertain, and in the end unknown, never dead', () => {
    const uncertain = { ...row, uncertain: true, status: 401 }
    const planned = (attempts: number) =>
      planAttempt({ ...uncertain, attempts }, failed({ permanent: true, status: 401 }), context({ idempotent: false }, true), true).row
    expect(planned(2)).toMatchObject({ state: 'ready', uncertain: true })
    expect(planned(3)).toMatchObject({ state: 'unknown', uncertain: true })
    const taken = planAttempt(uncertain, DELIVERED, context({ idempotent: false }, true), true)
    expect(taken.row).toMatchObject({ state: 'delivered', uncertain: false })
  })

  test.each([
    [404, [503, null], [404]],
    // Such as a SOAP fault.
    [500, [503, null], [500]],
    // A temporary failure is no rejection.
    [400, [408, 425, 429, 302, 200], [400, 409, 422]],
  ])('one refusal with %i is final after another refusal, and after nothing else', (status, passing, refusals) => {
    const refused = failed({ permanent: true, status, error: `answered ${status}` })
    const after = (before: number | null) => planAttempt({ ...row, attempts: 2, status: before }, refused, context()).row.state
    expect(passing.map(after)).toEqual(passing.map(() => 'ready'))
    expect(refusals.map(after)).toEqual(refusals.map(() => 'dead'))
  })

  test('a failure of the program itself is final regardless of earlier attempts', () => {
    const ours = failed({ permanent: true, status: null, error: 'request.body failed' })
    expect(planAttempt({ ...row, attempts: 2 }, ours, context()).row.state).toBe('dead')
  })

  test('unmapped and stopped rows use up no attempt', () => {
    expect(planAttempt(row, { type: 'unmapped', error: 'no client' }, context())).toMatchObject({
      row: { state: 'ready', attempts: 0 },
      stream: { type: 'blocked', as: 'unmapped' },
    })
    const stop: Outcome = { type: 'suspend', retry: 'soon', status: 410, error: 'gone' }
    expect(planAttempt(row, stop, context())).toMatchObject({ row: { state: 'ready', attempts: 0 }, stream: { type: 'due', inMs: 0 } })
  })

  test('a row that was not attempted is unchanged since its claim, and due immediately', () => {
    const before = { ...row, attempts: 2, status: 500, uncertain: true }
    for (const idempotent of [true, false]) {
      expect(planAttempt(before, { type: 'not_attempted' }, context({ idempotent }))).toMatchObject({
        row: { state: 'ready', attempts: 2, status: 500, uncertain: true, error: null },
        stream: { type: 'due', inMs: 0 },
      })
    }
  })

  test('a missing client is looked for again when the change is twice as old, within bounds', () => {
    const streamAfter = (ageMs: number, over = {}) =>
      planAttempt({ ...row, changedAt: timeFromMs(-ageMs) }, { type: 'unmapped', error: 'no client' }, context(over)).stream
    expect([0, 20_000, 90_000_000].map((ageMs) => streamAfter(ageMs))).toEqual(
      [5_000, 20_000, 3_600_000].map((inMs) => ({ type: 'blocked', as: 'unmapped', inMs })),
    )
    expect([50, 300_000].map((ms) => streamAfter(0, { scheduleMs: [ms] }))).toMatchObject([{ inMs: 50 }, { inMs: 5_000 }])
  })

  test('an aborted attempt does not count', () => {
    expect(planNotAttempted({ ...row, attempts: 2, uncertain: true }).row).toMatchObject({ state: 'ready', attempts: 2, uncertain: true })
  })

  test('the text of a target is shortened and made storable', () => {
    const { error } = planAttempt(row, failed({ error: `\u0000${'x'.repeat(5_000)}` }), context()).row
    expect(error?.length).toBeLessThanOrEqual(1_001)
    expect(error).not.toContain('\u0000')
  })
})
