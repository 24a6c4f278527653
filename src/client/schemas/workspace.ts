import { z } from 'zod'
import { flag, integer, known, text, texts, uuid } from './fields.ts'

const channels = ['broker_portal', 'broker_email', 'insured', 'connected_app', 'document', 'paste', 'mapping'] as const
const evidences = ['explicit', 'translated', 'assumed'] as const

const origin = { source_id: text('Where it came from'), content_hash: text('Hash of that content') }
const quoted = {
  snippet: text('The quoted words').nullable().optional(),
  extractor_version: text('Version of the extractor').nullable().optional(),
}

export const sourceReferenceSchema = z
  .looseObject({
    ...origin,
    channel: known(channels, 'Channel of the value'),
    evidence: z.string().meta({ description: 'Certainty of the value', 'x-known-values': evidences, default: 'explicit' }).optional(),
    ...quoted,
  })
  .describe('Where a value comes from')

/** For requests: a SourceReference. Only the listed values of `channel` and `evidence` are accepted. */
export const sentSourceReferenceSchema = z
  .looseObject({
    ...origin,
    channel: z.enum(channels).describe('Channel of the value'),
    evidence: z.enum(evidences).meta({ description: 'Certainty of the value', default: 'explicit' }).optional(),
    ...quoted,
  })
  .describe('Where the values of a command come from')

export const factSchema = z
  .looseObject({
    key: text('Name of the fact'),
    value: z.unknown().describe('Any value'),
    scope: z.string().meta({ description: 'Scope of the fact', default: 'insured' }),
    period: text('Period of the fact').nullable(),
    source: sourceReferenceSchema,
    confirmed: flag('Whether it is confirmed'),
  })
  .partial()
  .describe('A fact of the submission')

export const factsSetSchema = z
  .looseObject({
    contract_version: known(['structured_v1'], 'Version of this shape'),
    workspace_id: text('The workspace'),
    fact_set_id: text('This set'),
    owner_host: text('Who owns it'),
    owner_resource_id: text('What it belongs to'),
    revision: integer('Revision of the set'),
    replica_applied_revision: integer('Revision that the replica has'),
    facts: z.array(factSchema).describe('The facts'),
  })
  .partial()
  .describe('The facts of the submission')

const ownershipSchema = z
  .looseObject({
    kind: known(['explicit', 'derived', 'cleared'], 'Origin of the answer'),
    revision: integer('Revision of the answer'),
    source: sourceReferenceSchema,
    dependencies: texts('Keys that it depends on'),
  })
  .partial()

const texted = z.record(z.string(), z.string())

/** An application to one carrier. The specification also calls an application a carrier-API quote session. */
export const applicationSectionSchema = z
  .looseObject({
    application_id: text('The session_id of the checkpoint, request-quote and employers-classes paths'),
    workspace_id: text('The workspace'),
    connection_id: text('The connection'),
    provider_key: text('Key of the carrier'),
    program_identifier: text('The program'),
    owner_host: known(['service', 'assisted_filler'], 'Who owns it'),
    owner_session_id: text('The session of the owner'),
    route: known(['service', 'direct'], 'How it is sent'),
    market_program_id: uuid('The program of the market').nullable(),
    submission_id: uuid('The submission').nullable(),
    line_of_business: text('Line of business').nullable(),
    schema: z.looseObject({}).meta({
      description: 'Normalized question schema: fields, required_field_keys, program identity',
      'x-not-shown': 'The shape of the question schema',
    }),
    schema_fingerprint: text('Token of optimistic concurrency: the schema'),
    answers: z.record(z.string(), z.unknown()).describe('Answers by question key'),
    ownership: z.record(z.string(), ownershipSchema).describe('Where each answer comes from, by question key'),
    answer_revision: integer('Token of optimistic concurrency: the answers'),
    fact_revision: integer('Revision of the facts'),
    selection_revision: integer('Revision of the selection'),
    selected_products: texts('Selected products'),
    available_products: texts('Products that can be selected'),
    mapping_state: text('Whether fact-to-answer mapping is idle or running'),
    unresolved_dependencies: texts('Dependencies without a value'),
    missing: texts('Required question keys still unanswered'),
    errors: z.array(texted).describe('Errors'),
    visible_fields: texts('Keys of the visible questions'),
    readiness: known(['needs_information', 'ready_for_quote'], 'Whether every required visible question is answered'),
    request_state: known(['draft'], '`draft` until a quote request is made').meta({ 'x-not-shown': 'Other values' }),
    request_id: text('The last request').nullable(),
    result: z.looseObject({}).describe("The carrier's outcome of the last request"),
    allowed_actions: texts('Allowed actions'),
  })
  .partial()
  .required({
    application_id: true,
    workspace_id: true,
    provider_key: true,
    program_identifier: true,
    schema: true,
    schema_fingerprint: true,
    answers: true,
    answer_revision: true,
    readiness: true,
    request_state: true,
  })
  .describe('One carrier application')
export type ApplicationSection = z.output<typeof applicationSectionSchema>

export const workspaceSchema = z
  .looseObject({
    contract_version: known(['structured_v1'], 'Version of this shape'),
    workspace_id: text('The workspace'),
    workflow_version: known(['structured_v1', 'legacy'], '`legacy`, with no applications, for submissions not on the structured workflow'),
    facts: factsSetSchema,
    applications: z.array(applicationSectionSchema).describe('The carrier applications'),
    residual_pdf: z
      .looseObject({ status: text('Status of the forms'), form_keys: texts('The forms') })
      .partial()
      .describe('Forms still prepared outside carrier applications'),
  })
  .partial()
  .describe('The application workspace of a submission')
export type Workspace = z.output<typeof workspaceSchema>
