import { z } from 'zod'
import { checkpointSchema } from '../../client/schemas/checkpoint.ts'
import { ownValue, type Plain, type PlainObject, setOwnValue } from '../world/plain.ts'
import { answerProblem, questionOf } from '../world/questions.ts'
import type { ApplicationRecord } from '../world/records.ts'
import type { Lane, Submission } from '../world/submission.ts'
import { applyAnswer, reopen } from './answering.ts'
import { type Application, applicationOf, applicationRecord, noteAnswer, sourceFrom } from './applications.ts'
import type { BuiltParts } from './parts.ts'
import { parseBody, Refusal } from './refusal.ts'

const values = z.record(z.string(), z.json()).default({})
const { collection_operations, source_reference } = checkpointSchema.shape
const checkpointBody = checkpointSchema.extend({
  field_changes: values,
  explicit_clears: z.array(z.string()).default([]),
  collection_operations: z.array(collection_operations.unwrap().element.extend({ changes: values })).default([]),
  source_reference: source_reference
    .unwrap()
    .extend({
      evidence: z.string().default('explicit'),
      snippet: z.string().nullable().default(null),
      extractor_version: z.string().nullable().default(null),
    })
    .optional(),
})
type Command = z.output<typeof checkpointBody>

interface Target {
  readonly submission: Submission
  readonly lane: Lane
  readonly record: ApplicationRecord
  readonly atMs: number
}

/**
 * Saves answers to one application. Idempotent for each `operation_id`: a retry returns the original receipt.
 * @throws Refusal in these cases:
 * - the application is unknown (404)
 * - the revision or fingerprint is stale (409, with the current application)
 * - the application is busy
 * - the command is rejected
 */
export function checkpoint(parts: BuiltParts, submission: Submission, sessionId: string, input: unknown, atMs: number): PlainObject {
  const command = parseBody(checkpointBody, input)
  const lane = submission.shownLanes.find(({ session }) => session?.session_id === sessionId)
  const current = lane && applicationOf(submission, lane)
  if (!lane || !current) throw new Refusal('not_found', 'Application not found')
  const receipt = ownValue(submission.records.applications[sessionId]?.receipts ?? {}, command.operation_id)
  if (receipt) return receipt
  refuseBusy(parts, submission)
  if (command.expected_answer_revision !== current.answer_revision || command.expected_schema_fingerprint !== current.schema_fingerprint)
    throw new Refusal('stale_application', {
      code: 'stale_application',
      message: 'The application has changed',
      application: current,
    })
  const record = applicationRecord(submission, sessionId)
  const refused = rejection(command, record, current.available_products)
  if (refused !== null) throw new Refusal('command_rejected', { code: 'application_command_rejected', message: refused })
  return save(parts, { submission, lane, record, atMs }, command, current)
}

function refuseBusy({ faults, unshown }: BuiltParts, { account, id: submissionId }: Submission): void {
  if (!faults.draw(['application_busy'], { operation: 'write', account, submissionId })) return
  const seconds = unshown.number('busy_retry_after_s')
  const detail = { code: 'application_busy', message: 'The application is being saved' }
  throw new Refusal('application_busy', detail, { 'retry-after': String(seconds) })
}

function rejection(command: Command, record: ApplicationRecord, available: readonly string[]): string | null {
  const { classification } = command.field_changes
  const question = questionOf('classification')
  if (classification !== undefined && question && answerProblem(question, classification) !== null)
    return `classification ${JSON.stringify(classification)} is not valid`
  const strange = command.selected_products?.find((product) => !available.includes(product))
  if (strange !== undefined) return `the product ${strange} is not available`
  for (const { field_key, operation, record_id } of command.collection_operations) {
    const exists = ownValue(ownValue(record.collections, field_key) ?? {}, record_id) !== undefined
    if (exists === (operation === 'insert')) return `${field_key} has ${exists ? 'a' : 'no'} record ${record_id}`
  }
  return null
}

function save(parts: BuiltParts, target: Target, command: Command, before: Application): PlainObject {
  const { submission, lane, record } = target
  const source = (command.source_reference ?? sourceFrom(command.operation_id, 'connected_app')) as PlainObject
  const revision = before.answer_revision + 1
  const commands = record.commands + 1
  const rejected: Record<string, string>[] = []
  const questionProblem = (key: string) => (before.visible_fields.includes(key) ? null : 'is no question of this application')
  const isTaken = (key: string, problem: string | null) => {
    if (problem !== null) rejected.push({ key, reason: problem })
    return problem === null
  }
  const changed = Object.entries(command.field_changes).filter(([key, value]) => {
    const question = questionOf(key)
    return isTaken(key, questionProblem(key) ?? (question ? answerProblem(question, value) : null))
  }) as [string, Plain][]
  const cleared = command.explicit_clears.filter((key) => isTaken(key, questionProblem(key)))
  for (const [key, value] of changed) {
    applyAnswer(parts, submission, key, value, target.atMs)
    noteAnswer(record, key, value, revision, source)
  }
  for (const key of cleared) {
    delete record.answers[key]
    record.cleared = [...new Set([...record.cleared, key])]
    record.ownership[key] = { kind: 'cleared', revision, source, dependencies: [] }
    reopen(parts, submission, lane.rail.submission_market_id, key, target.atMs)
  }
  const collections = changeCollections(record, command, revision, source)
  if (command.selected_products !== undefined) record.selected = command.selected_products
  // A command counts as one change, however many answers it contains.
  record.commands = commands
  const facts = changed.map(([key, value]) => ({ key, value, scope: 'insured', period: null, source, confirmed: true }))
  const receipt = {
    operation_id: command.operation_id,
    application: applicationOf(submission, submission.lane(lane.rail.submission_market_id)),
    applied: [...changed.map(([key]) => key), ...cleared, ...collections],
    rejected,
    fact_changes: facts,
  }
  const kept = JSON.parse(JSON.stringify(receipt)) as PlainObject
  setOwnValue(record.receipts, command.operation_id, kept)
  return kept
}

function changeCollections(record: ApplicationRecord, command: Command, revision: number, source: PlainObject): string[] {
  const fields = new Set<string>()
  for (const { field_key, operation, record_id, changes } of command.collection_operations) {
    const records = ownValue(record.collections, field_key) ?? {}
    setOwnValue(record.collections, field_key, records)
    if (operation === 'remove') delete records[record_id]
    else setOwnValue(records, record_id, { ...ownValue(records, record_id), ...(changes as PlainObject) })
    const list = Object.entries(records).map(([id, values]) => ({ record_id: id, ...values }))
    noteAnswer(record, field_key, list, revision, source)
    fields.add(field_key)
  }
  return [...fields]
}
