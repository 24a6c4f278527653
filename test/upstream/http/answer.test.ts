import { describe, expect, test } from 'vitest'
import { failureOf, type HttpAnswer, retryAfterMs, shortDetail } from '../../../src/upstream/http/answer.ts'
import { UpstreamPermanentError, UpstreamTransientError, upstreamClass } from '../../../src/upstream/http/errors.ts'
import type { Call } from '../../../src/upstream/http/operations.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const call: Call = { operation: 'events', submissionId: '0b8f6a52-3a35-4b52-9a1e-6f2d7f1f6a01', withCursor: false }
const judge = (status: number, headers: HttpAnswer['headers'] = {}, body: string | null = null, about = call) =>
  failureOf(about, { status, headers, body }, NOW)

describe('classes', () => {
  test('trap 51: an answer has a class', () => {
    const classOf = (status: number) => upstreamClass(judge(status))
    expect([200, 201, 299].map((status) => judge(status))).toEqual([null, null, null])
    for (const status of [401, 403]) expect(classOf(status)).toBe('auth')
    expect(classOf(404)).toBe('gone')
    expect(classOf(429)).toBe('throttled')
    for (const status of [400, 402, 409, 410, 418, 422, 451, 499]) expect(classOf(status)).toBe('rejected')
    for (const status of [301, 302, 307, 308, 408, 500, 502, 503, 504, 520, 599, 999]) expect(classOf(status)).toBe('unavailable')
  })

  test('trap 51: a challenge turns any refusal into one of the credential', () => {
    expect(upstreamClass(judge(402, { 'www-authenticate': 'Bearer error="insufficient_scope"' }))).toBe('auth')
    expect(upstreamClass(judge(400, { 'www-authenticate': 'Bearer' }))).toBe('auth')
    expect(upstreamClass(judge(404, { 'www-authenticate': 'Bearer' }))).toBe('gone')
  })

  test('trap 50: a refusal with Retry-After is temporary, with any status', () => {
    for (const status of [400, 403, 409, 422, 423]) {
      const error = judge(status, { 'retry-after': '7' }, '{"detail":{"code":"application_busy"}}')
      expect(error).toBeInstanceOf(UpstreamTransientError)
      expect(error).toMatchObject({ class: 'throttled', retryAfterMs: 7000 })
    }
    expect(judge(503, { 'retry-after': '7' })).toMatchObject({ class: 'unavailable', retryAfterMs: 7000 })
  })

  test('trap 17: a rejected request records whether it had a cursor', () => {
    expect(judge(400, {}, null, { ...call, withCursor: true })).toMatchObject({ class: 'rejected', rejectedWithCursor: true })
    expect(judge(400)).toMatchObject({ class: 'rejected', rejectedWithCursor: false })
    expect(judge(404, {}, null, { ...call, withCursor: true })).toMatchObject({ class: 'rejected', rejectedWithCursor: true })
    expect(judge(404)).toMatchObject({ class: 'gone', rejectedWithCursor: false })
    for (const status of [401, 403])
      expect(judge(status, {}, null, { ...call, withCursor: true })).toMatchObject({ class: 'auth', rejectedWithCursor: false })
  })
})

describe('Retry-After', () => {
  test('trap 49: accepts seconds and HTTP dates, capped at an hour', () => {
    const waitMs = (value: string | string[] | undefined, date?: string) => retryAfterMs({ 'retry-after': value, date }, NOW)
    expect(waitMs('0')).toBe(0)
    expect(waitMs('1.5')).toBe(1500)
    expect(waitMs(' 30 ')).toBe(30_000)
    expect(waitMs(['5', '9'])).toBe(5000)
    expect(waitMs('999999999')).toBe(3_600_000)
    expect(waitMs('Thu, 01 Jan 2026 00:01:00 GMT')).toBe(60_000)
    expect(waitMs('Wed, 31 Dec 2025 23:00:00 GMT')).toBe(0)
    expect(waitMs('Fri, 02 Jan 2026 00:00:00 GMT')).toBe(3_600_000)
    for (const value of [undefined, '', 'soon', '-5', '1e9', 'Feb 30 x']) expect(waitMs(value)).toBeUndefined()
  })

  test("trap 49: compares a date with the answer's date, since clocks differ", () => {
    const headers = { 'retry-after': 'Thu, 01 Jan 2026 05:00:30 GMT', date: 'Thu, 01 Jan 2026 05:00:00 GMT' }
    expect(retryAfterMs(headers, NOW)).toBe(30_000)
  })
})

describe('the detail of an error', () => {
  test('trap 52: accepts text, a list, an object with a code, or nothing, in any body', () => {
    expect(shortDetail('{"detail":"Invalid cursor"}')).toBe('Invalid cursor')
    expect(shortDetail('{"detail":{"code":"application_busy","x":1}}')).toBe('application_busy')
    expect(shortDetail('{"error":"invalid_client","error_description":"no"}')).toBe('invalid_client')
    expect(shortDetail('{"detail":[{"loc":["body","client_id"],"msg":"field required: 12","type":"missing","input":"x"}]}')).toBe(
      'body.client_id missing',
    )
    for (const body of [
      null,
      '',
      '<html>504</html>',
      '{"detail":',
      '[]',
      '7',
      'null',
      '{"detail":null}',
      '{"detail":[null,7]}',
      '{"detail":{}}',
    ]) {
      expect(shortDetail(body)).toBe('')
    }
  })

  test('masks tokens and tax ids, and cuts long texts', () => {
    const said = shortDetail(
      JSON.stringify({ detail: 'token eyJhbGciOiJIUzI1NiJ9.e30.abc of bas_secret for 12-3456789 and\n123-45-6789 refused' }),
    )
    expect(said).toBe('token […] of […] for […] and […] refused')
    const id = '3f0d9c52-7d4b-4b43-9a53-6a6f4e6d1f10'
    expect(shortDetail(JSON.stringify({ detail: `no_such_submission_file ${id} for ${'x'.repeat(41)}` }))).toBe(
      `no_such_submission_file ${id} for […]`,
    )
    expect(shortDetail(JSON.stringify({ detail: 'word '.repeat(500) })).length).toBeLessThan(130)
  })

  test('the message contains operation, submission, status and detail', () => {
    const error = judge(409, {}, '{"detail":{"code":"service_file_exists"}}')
    expect(error).toBeInstanceOf(UpstreamPermanentError)
    expect(error?.message).toBe(`events of submission ${call.submissionId}: the service answered 409 (service_file_exists)`)
  })
})
