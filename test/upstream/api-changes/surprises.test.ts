import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { eventsPageSchema } from '../../../src/client/schemas/events.ts'
import { identitySchema } from '../../../src/client/schemas/identity.ts'
import { threadPageSchema } from '../../../src/client/schemas/thread.ts'
import { workspaceSchema } from '../../../src/client/schemas/workspace.ts'
import type { Surprise } from '../../../src/model/api-changes.ts'
import { surprisesOf } from '../../../src/upstream/api-changes/known.ts'
import { shapeOf } from '../../../src/upstream/api-changes/shape.ts'
import { surprisesIn } from '../../../src/upstream/api-changes/surprises.ts'

const ID = '0b5f0a9e-6b1c-4a53-9d3c-0a4f6f2f9b11'
const lines = (found: readonly Surprise[]) => found.map(({ kind, path, type }) => `${kind} ${path} ${type}`)
const within = (schema: z.ZodType, value: unknown) => lines(surprisesIn(shapeOf(schema), value))
const event = (more: object = {}) => ({
  id: ID,
  type: 'bound',
  occurred_at: '2026-01-02T03:04:05Z',
  status: 'x',
  status_label: 'X',
  detail: null,
  market: { name: 'A', lines: ['gl'], lane_id: null, category: 'binding' },
  ...more,
})

describe('differences between an answer and the specification', () => {
  it('are none in a valid answer with allowed nulls', () => {
    expect(within(eventsPageSchema, { events: [event()], next_cursor: null })).toEqual([])
  })

  it('contain each field, value and type once, by its path', () => {
    const odd = event({
      type: 'reinstated',
      status: 7,
      region: { code: 'x' },
      market: { name: 'A', lines: [null, 'gl'], lane_id: 'seven' },
    })
    expect(within(eventsPageSchema, { events: [odd, odd], next_cursor: 5, more: true })).toEqual([
      'value events[].type string',
      'type events[].status integer',
      'type events[].market.lines[] null',
      'type events[].market.lane_id string, no uuid',
      'field events[].region object',
      'type next_cursor integer',
      'field more boolean',
    ])
  })

  it('contain required fields that are missing or null, and no others', () => {
    const { id: _, type: __, ...rest } = event()
    expect(within(eventsPageSchema, { events: [rest, event({ type: null }), { id: ID, type: 'bound' }] })).toEqual([
      'missing events[].id absent',
      'missing events[].type absent',
      'type events[].type null',
      'missing next_cursor absent',
    ])
    expect(within(threadPageSchema, { messages: [{ id: ID, attachments: [{}] }], next_cursor: null })).toEqual([
      'missing messages[].attachments[].name absent',
      ...['channel', 'direction', 'kind', 'occurred_at', 'body_text'].map((name) => `missing messages[].${name} absent`),
    ])
    expect(within(identitySchema, { email: 'a@b.c' })).toEqual(['missing kind absent'])
    expect(within(z.union([z.looseObject({ a: z.string(), b: z.string() }), z.looseObject({ a: z.string() })]), { c: 1 })).toEqual([
      'field c integer',
      'missing a absent',
    ])
  })

  it('ignore unspecified parts, and look behind keys that are data', () => {
    const required = {
      application_id: 'a',
      workspace_id: 'w',
      provider_key: 'p',
      program_identifier: 'i',
      schema_fingerprint: 'f',
      answer_revision: 1,
      readiness: 'ready_for_quote',
      request_state: 'draft',
    }
    const application = {
      ...required,
      schema: { any: { thing: 1 } },
      answers: { q1: [1], q2: null },
      ownership: { q1: { kind: 'guessed', revision: 1.5 } },
    }
    expect(within(workspaceSchema, { applications: [application], contract_version: 'structured_v2' })).toEqual([
      'value applications[].ownership{}.kind string',
      'type applications[].ownership{}.revision number',
      'value contract_version string',
    ])
    expect(within(identitySchema, { kind: 'user', brokerage: { anything: 1 }, email: 'a@b.c', active_states: null })).toEqual([])
    expect(within(identitySchema, { kind: 'robot', serial: 1 })).toEqual(['value kind string', 'field serial integer'])
  })

  it('contain no values: keys that may be data are replaced', () => {
    const keys = { 'ann@agency.example': 1, [ID]: 1, '123-45-6789': 1, 'Jane Doe': 1, fein_123456789: 1, ok_1: 1 }
    expect(within(z.looseObject({ a: z.string().optional() }), keys)).toEqual(['field {} integer', 'field ok_1 integer'])
    const secrets = event({ status: { ssn: '123-45-6789' }, type: '123-45-6789' })
    expect(JSON.stringify(surprisesIn(shapeOf(eventsPageSchema), { events: [secrets], next_cursor: null }))).not.toContain('6789')
  })

  it('ignore ids that the mirror learns anywhere, and words of a partial vocabulary', () => {
    expect(within(eventsPageSchema, { events: [event({ policy_id: ID })], next_cursor: null })).toEqual([])
    expect(within(eventsPageSchema, { events: [event({ policy_id: 'seven' })], next_cursor: null })).toEqual([
      'field events[].policy_id string',
    ])
    const vocabularies = { applications: [{ request_state: 'quoted', readiness: 'later' }] }
    expect(within(workspaceSchema, vocabularies).filter((line) => !line.startsWith('missing'))).toEqual([
      'value applications[].readiness string',
    ])
  })

  it('are limited for any answer', () => {
    const many = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, i) => [`f${'abcdefghij'[i % 10]}_${i % 1000}_${Math.floor(i / 1000)}`, i]),
    )
    expect(surprisesIn(shapeOf(eventsPageSchema), { events: [], next_cursor: null, ...many })).toHaveLength(100)
  })
})

describe('the differences of an answer or a delivery', () => {
  const of = (resource: string, body: unknown) => {
    const result = surprisesOf(resource, body)
    return `${result.resource}: ${lines(result.surprises).join(', ')}`
  }

  it('belong to the read; unspecified reads have none', () => {
    expect(of('events', { events: [event()], next_cursor: null })).toBe('events: ')
    expect(of('policy', { whatever: 1 })).toBe('policy: ')
    expect(of('events', { events: [event({ region: 1 })], next_cursor: null })).toBe('events: field events[].region integer')
  })

  it('include messages of deliveries, and unknown types of deliveries', () => {
    const message = {
      id: ID,
      channel: 'email',
      direction: 'inbound',
      kind: 'chat',
      occurred_at: '2026-01-02T03:04:05Z',
      body_text: '',
      mood: 'good',
    }
    expect(of('delivery', { type: 'submission.message', submission_id: ID, message })).toBe('submission.message: field message.mood string')
    expect(of('delivery', { type: 'submission.events', anything: 1 })).toBe('submission.events: ')
    expect(of('delivery', { type: 'policy.changed' })).toBe('delivery: value type string')
    for (const nothing of [undefined, null, [], 7, {}, { type: 7 }]) expect(of('delivery', nothing)).toBe('delivery: ')
  })
})
