import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { bindRequestCreateSchema, bindRequestSchema } from '../../../src/client/schemas/binding.ts'
import { checkpointSchema, quoteProductsSchema } from '../../../src/client/schemas/checkpoint.ts'
import { submissionDocumentSchema } from '../../../src/client/schemas/documents.ts'
import { assumptionsUnconfirmedSchema, fileExistsSchema } from '../../../src/client/schemas/errors.ts'
import { eventsPageSchema, marketEventSchema } from '../../../src/client/schemas/events.ts'
import { identitySchema } from '../../../src/client/schemas/identity.ts'
import { submissionCreateSchema } from '../../../src/client/schemas/submission-create.ts'
import { threadMessageSchema } from '../../../src/client/schemas/thread.ts'

const ID = '0b5f0a9e-6b1c-4a53-9d3c-0a4f6f2f9b11'
const address = { line1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
const body = { applicant: { insured_name: 'Acme' }, narrative: 'Roofing' }
const accepts = (schema: z.ZodType, value: unknown) => schema.safeParse(value).success

describe('answers are read tolerantly', () => {
  it('keeps unknown fields and values', () => {
    const event = { id: ID, type: 'rewritten', market: { name: 'A', rank: 3 }, added: { since: '1.1' } }
    expect(marketEventSchema.parse(event)).toEqual(event)
    expect(identitySchema.parse({ kind: 'partner', on_behalf_of: ID })).toEqual({ kind: 'partner', on_behalf_of: ID })
  })

  it('requires only the fields that the specification requires', () => {
    expect(accepts(submissionDocumentSchema, { id: ID })).toBe(false)
    expect(accepts(threadMessageSchema, { id: ID, channel: 'chat', direction: 'inbound', kind: 'chat', occurred_at: '' })).toBe(false)
    const draft = { bind_request_id: ID, submission_id: ID, status: 'drafted', status_label: 'Draft', requested_at: '2026-01-05T12:00:00Z' }
    expect(accepts(bindRequestSchema, { ...draft, unconfirmed_assumptions: [], contingencies: [] })).toBe(false)
    expect(accepts(bindRequestSchema, { ...draft, unconfirmed_assumptions: [], contingencies: [], next_steps: [] })).toBe(true)
  })

  it('accepts null only where the specification does', () => {
    expect(accepts(marketEventSchema, { id: ID, type: 'bound', detail: null })).toBe(true)
    expect(accepts(marketEventSchema, { id: ID, type: 'bound', status: null })).toBe(false)
  })

  it('distinguishes a missing cursor from the end of the feed', () => {
    expect(accepts(eventsPageSchema, { events: [], next_cursor: null })).toBe(true)
    expect(accepts(eventsPageSchema, { events: [] })).toBe(false)
  })

  it('reads the fields of a 409 from the body or from `detail`', () => {
    expect(accepts(fileExistsSchema, { detail: { code: 'service_file_exists', submission_id: ID } })).toBe(true)
    expect(accepts(fileExistsSchema, { code: 'service_file_exists', submission_id: ID, detail: 'A live file exists' })).toBe(true)
    expect(accepts(assumptionsUnconfirmedSchema, { detail: 'no code' })).toBe(false)
  })
})

describe('bodies are as strict as the specification', () => {
  it.each([
    ['an insured name of 257 characters', { applicant: { insured_name: 'a'.repeat(257) } }],
    ['a title of 129 characters', { applicant: { insured_name: 'A', contact_title: 'a'.repeat(129) } }],
    ['a state of 3 characters', { applicant: { insured_name: 'A', mailing_address: { ...address, state: 'TEX' } } }],
    ['an address without its ZIP code', { applicant: { insured_name: 'A', mailing_address: { ...address, zip: undefined } } }],
    ['no narrative', { narrative: undefined }],
    ['251 locations', { locations: Array.from({ length: 251 }, (_, index) => ({ location_number: index + 1, address })) }],
    ['two locations of one number', { locations: [1, 1].map((location_number) => ({ location_number, address })) }],
    ['a location 0', { locations: [{ location_number: 0, address }] }],
    ['a fractional number of dollars', { property_tiv_total: 1.5 }],
    ['another mode', { mode: 'quote' }],
    ['no programs', { mode: 'rater', partner_program_ids: [] }],
    ['a program twice', { mode: 'rater', partner_program_ids: [ID, ID] }],
  ])('rejects %s', (_, change) => {
    expect(accepts(submissionCreateSchema, body)).toBe(true)
    expect(accepts(submissionCreateSchema, { ...body, ...change })).toBe(false)
  })

  it('keeps unknown properties', () => {
    expect(submissionCreateSchema.parse({ ...body, later: true })).toEqual({ ...body, later: true })
  })

  it('checks commands', () => {
    const command = { operation_id: 'a', expected_answer_revision: 1, expected_schema_fingerprint: 'f' }
    expect(accepts(checkpointSchema, command)).toBe(true)
    const source = { source_id: 's', content_hash: 'h', channel: 'guess' }
    expect(accepts(checkpointSchema, { ...command, source_reference: source })).toBe(false)
    expect(accepts(quoteProductsSchema, { program_ids: [], selected_ids: [], expected_revision: 1 })).toBe(false)
    expect(accepts(quoteProductsSchema, { program_ids: [ID], selected_ids: [], expected_revision: 1 })).toBe(true)
    expect(accepts(bindRequestCreateSchema, { quote_id: ID, attest_assumptions: ['years_in_business'] })).toBe(true)
    expect(accepts(bindRequestCreateSchema, { quote_id: 'q' })).toBe(false)
  })
})
