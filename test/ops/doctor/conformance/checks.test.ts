import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { eventsPageSchema } from '../../../../src/client/schemas/events.ts'
import { accessChecks } from '../../../../src/ops/doctor/conformance/access-checks.ts'
import { checks } from '../../../../src/ops/doctor/conformance/checks.ts'
import type { Desk } from '../../../../src/ops/doctor/conformance/desk.ts'
import { compare, judged } from '../../../../src/ops/doctor/conformance/verdict.ts'
import { rows } from '../../../conformance/rows.ts'

const jwt = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`

it('each row of the specification has a check, or a reason why it has none, and each check is of a row', () => {
  expect(Object.keys(checks).sort()).toEqual(rows.map(({ id }) => id).sort())
  for (const check of Object.values(checks)) if (typeof check === 'string') expect(check).toMatch(/^it (needs|would) /)
})

it.each([
  ['agrees', { access_token: 'opaque', expires_in: 3600 }, /^the token lives 60 minutes, as its answer says$/],
  ['agrees', { access_token: jwt({ iat: 1_000, exp: 4_600 }), expires_in: 60 }, /^the token lives 60 minutes, as it says itself$/],
  ['differs', { access_token: 'opaque', expires_in: '1800' }, /^the token lives 30 minutes, as its answer says, not 60$/],
  ['differs', { access_token: jwt({ iat: 1_000, exp: 87_400 }) }, /lives 1440 minutes/],
  ['untold', { access_token: 'opaque' }, /neither/],
  ['untold', { access_token: 'a.b.c', expires_in: 'soon' }, /neither/],
] as const)('the lifetime of a token %s: %j', async (result, granted, text) => {
  const check = accessChecks['limit.token']
  expect(await check?.({ service: { granted } } as unknown as Desk)).toMatchObject({ result, text: expect.stringMatching(text) })
})

describe('an answer beside a schema', () => {
  it('has problems where a field is missing or of another type, and more where it is not named', () => {
    const event = { id: '0b5f0a9e-6b1c-4a53-9d3c-0a4f6f2f9b11', type: 'reinstated', occurred_at: 7, region: 'x' }
    expect(compare(eventsPageSchema, { events: [event, { ...event, id: 'seven' }] })).toEqual({
      problems: ['events[].occurred_at is integer', 'events[].id is string, no uuid', 'next_cursor is missing'],
      more: ['events[].type (value)', 'events[].region'],
    })
    expect(compare(eventsPageSchema, [])).toMatchObject({ problems: ['the answer is array'] })
  })

  it('is told without its values', () => {
    const secret = '123-45-6789'
    const told = compare(z.looseObject({ a: z.int(), b: z.record(z.string(), z.string()) }), { a: secret, b: { [secret]: 1 }, [secret]: 1 })
    expect(JSON.stringify(told)).not.toContain('6789')
  })

  it('differs with its first problems', () => {
    const problems = Array.from({ length: 9 }, (_, i) => `p${i}`)
    expect(judged({ problems, more: [] }, 'seen')).toEqual({ result: 'differs', text: 'p0; p1; p2; p3; p4, and 4 more', more: [] })
    expect(judged({ problems: [], more: ['x'] }, 'seen')).toEqual({ result: 'agrees', text: 'seen', more: ['x'] })
  })
})
