import { createHash } from 'node:crypto'
import { quoteProductsSchema } from '../../client/schemas/checkpoint.ts'
import { programOf } from '../world/catalogue.ts'
import { uuidOf } from '../world/ids.ts'
import { type Plain, type PlainObject, setOwnValue } from '../world/plain.ts'
import { questionOf } from '../world/questions.ts'
import type { ApplicationRecord } from '../world/records.ts'
import type { Lane, Submission } from '../world/submission.ts'
import type { CarrierSession } from '../world/wire.ts'
import { invalid, parseBody, Refusal } from './refusal.ts'

interface Ground {
  readonly questions: readonly string[]
  readonly answers: PlainObject
  readonly ownership: PlainObject
  readonly revision: number
}

/** @returns a `SourceReference` (a type of the specification) for a value that the source contains literally. */
export function sourceFrom(source_id: string, channel: string, content_hash = source_id) {
  return { source_id, content_hash, channel, evidence: 'explicit', snippet: null, extractor_version: null }
}

const MAPPED = { ...sourceFrom('intake', 'mapping'), evidence: 'translated', extractor_version: '1' }

/** @returns the carrier application of a lane's session; null if the lane has no session. */
export function applicationOf(submission: Submission, lane: Lane) {
  const { session, rail } = lane
  if (session === null) return null
  const ground = submission.records.brief === null ? generated(submission, session) : created(submission, lane, session)
  const record = submission.records.applications[session.session_id]
  const answers = { ...ground.answers, ...record?.answers }
  for (const key of record?.cleared ?? []) delete answers[key]
  const missing = session.missing_questions.map(({ key }) => key)
  return {
    application_id: session.session_id,
    workspace_id: uuidOf(`${submission.id} workspace`),
    connection_id: uuidOf(`${submission.id} connection ${session.carrier_slug}`),
    provider_key: session.carrier_slug,
    program_identifier: session.program,
    owner_host: 'service',
    owner_session_id: session.session_id,
    route: 'service',
    market_program_id: rail.program_id,
    submission_id: submission.id,
    line_of_business: rail.lines[0] ?? null,
    schema: { fields: ground.questions, required_field_keys: ground.questions, program: session.program },
    schema_fingerprint: createHash('sha256').update(ground.questions.join()).digest('hex'),
    answers,
    ownership: { ...ground.ownership, ...record?.ownership },
    answer_revision: ground.revision + (record?.commands ?? 0),
    fact_revision: factRevision(submission),
    selection_revision: submission.records.selectionRevision,
    selected_products: record?.selected ?? rail.lines,
    available_products: rail.lines,
    mapping_state: 'idle',
    unresolved_dependencies: [],
    missing,
    errors: [],
    visible_fields: ground.questions,
    readiness: missing.length === 0 ? 'ready_for_quote' : 'needs_information',
    request_state: session.has_quote ? 'completed' : 'draft',
    request_id: null,
    result: session.has_quote ? { outcome: session.outcome } : {},
    allowed_actions: missing.length === 0 ? ['request_quote', 'checkpoint'] : ['checkpoint'],
  }
}

export type Application = NonNullable<ReturnType<typeof applicationOf>>

/** @returns the revision of the submission's facts. Each saved command raises the revision by one. */
export function factRevision({ records }: Submission): number {
  return 1 + Object.values(records.applications).reduce((sum, { commands }) => sum + commands, 0)
}

/** @returns the saved content of an application. Creates empty content if there is none. */
export function applicationRecord({ records }: Submission, sessionId: string): ApplicationRecord {
  const record = records.applications[sessionId] ?? {
    answers: {},
    cleared: [],
    ownership: {},
    commands: 0,
    selected: null,
    collections: {},
    receipts: {},
  }
  records.applications[sessionId] = record
  return record
}

export function noteAnswer(record: ApplicationRecord, key: string, value: Plain, revision: number, source: PlainObject): void {
  setOwnValue(record.answers, key, value)
  record.cleared = record.cleared.filter((other) => other !== key)
  setOwnValue(record.ownership, key, { kind: 'explicit', revision, source, dependencies: [] })
}

function generated({ facts, taxId }: Submission, session: CarrierSession): Ground {
  const isMissing = (key: string) => session.missing_questions.some((asked) => asked.key === key)
  const years = isMissing('years_in_business') ? {} : { years_in_business: 12 }
  return {
    questions: ['insured.name', ...(taxId === null ? [] : ['fein_or_ssn']), 'years_in_business'],
    answers: { 'insured.name': facts.insured_name, ...(taxId === null ? {} : { fein_or_ssn: taxId }), ...years },
    ownership: { 'insured.name': { kind: 'derived', revision: 1, source: MAPPED, dependencies: ['insured.name'] } },
    revision: session.missing_questions.length === 0 ? 2 : 1,
  }
}

/**
 * Content of an application whose submission was created by a request. Known answers come from the submission's
 * records. Questions in `missing_questions` stay open. All other questions get the answer that favors the insured.
 */
function created({ facts, records, taxId }: Submission, { rail }: Lane, session: CarrierSession): Ground {
  const program = programOf(rail.program_id)
  const asks = [...(program?.asks ?? []), ...(program?.assumes ?? [])]
  const answers: Record<string, Plain> = { 'insured.name': facts.insured_name, ...(taxId === null ? {} : { fein_or_ssn: taxId }) }
  const ownership: Record<string, PlainObject> = {
    'insured.name': { kind: 'derived', revision: 1, source: MAPPED, dependencies: ['insured.name'] },
  }
  const isMissing = (key: string) => session.missing_questions.some((asked) => asked.key === key)
  for (const key of asks.filter((asked) => !isMissing(asked))) {
    const known = records.answers[key]
    answers[key] = known ?? questionOf(key)?.favorable ?? null
    const source = known === undefined ? { ...MAPPED, source_id: 'assumption', evidence: 'assumed' } : MAPPED
    ownership[key] = { kind: 'derived', revision: 1, source, dependencies: [key] }
  }
  return { questions: ['insured.name', ...(taxId === null ? [] : ['fein_or_ssn']), ...asks], answers, ownership, revision: 1 }
}

/**
 * Selects programs to quote.
 * @returns the new selection.
 * @throws Refusal if the revision is stale, or if a selected id isn't in `program_ids` (422).
 */
export function selectProducts({ records }: Submission, input: unknown) {
  const body = parseBody(quoteProductsSchema, input)
  const strange = body.selected_ids.find((id) => !body.program_ids.includes(id))
  if (strange !== undefined) throw invalid(['body', 'selected_ids'], `${strange} is not among program_ids`)
  if (body.expected_revision !== records.selectionRevision)
    throw new Refusal('stale_selection', {
      code: 'stale_selection',
      message: 'The selection has changed; read the workspace again',
      selection_revision: records.selectionRevision,
    })
  records.selectionRevision++
  const others = records.selectedPrograms.filter((id) => !body.program_ids.includes(id))
  records.selectedPrograms = [...others, ...new Set(body.selected_ids)]
  return { selection_revision: records.selectionRevision, program_ids: body.program_ids, selected_ids: records.selectedPrograms }
}
