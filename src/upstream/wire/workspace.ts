import { z } from 'zod'
import type { Row } from '../../model/entity.ts'
import { isObject, type Json } from '../../model/json.ts'
import type { ViewList } from '../../model/records.ts'
import type { View } from '../../model/view.ts'
import { count, flag, id, idOf, jsonOf, keyOf, list, rawOf, readAll, required, said, text, textOf, textOrJson, uuid } from './fields.ts'
import { type Given, type Item, itemsIn, keyedRows } from './items.ts'

/** Readers of the application workspace: its facts, and its applications with their answers. */

const factSet = z.looseObject({ fact_set_id: id, revision: count }).nullable().catch(null).prefault(null)
const residual = z.looseObject({ status: text, form_keys: list }).nullable().catch(null).prefault(null)
const workspace = z.looseObject({
  workspace_id: required(textOf),
  contract_version: text,
  workflow_version: text,
  facts: factSet,
  residual_pdf: residual,
})

const source = z.looseObject({
  source_id: text,
  content_hash: text,
  channel: text,
  evidence: text,
  snippet: text,
  extractor_version: text,
})
const noSource = source.parse({})

const fact = z.looseObject({
  key: required(idOf),
  scope: id,
  period: id,
  confirmed: flag,
  source: source.catch(noSource).prefault({}),
})

const application = z.looseObject({
  application_id: required(keyOf),
  workspace_id: id,
  connection_id: id,
  provider_key: text,
  program_identifier: text,
  owner_host: text,
  owner_session_id: id,
  route: text,
  market_program_id: uuid,
  line_of_business: text,
  schema_fingerprint: text,
  answer_revision: count,
  fact_revision: count,
  selection_revision: count,
  selected_products: list,
  available_products: list,
  mapping_state: textOrJson,
  unresolved_dependencies: list,
  missing: list,
  errors: list,
  visible_fields: list,
  readiness: text,
  request_state: text,
  request_id: id,
  allowed_actions: list,
})

const owner = z.looseObject({ kind: text, revision: count, source: source.catch(noSource).prefault({}) })

/** Reads the workspace. @returns null when the answer has no `workspace_id`. */
export function readWorkspace(raw: unknown): View | null {
  const read = workspace.safeParse(raw).data
  const kept = rawOf(raw)
  if (!read || !isObject(raw) || kept === null) return null
  const { workspace_id, contract_version, workflow_version, facts, residual_pdf } = read
  const row: Row = { ...said({ contract_version, workflow_version }, raw), workspace_id, raw: kept }
  if (facts !== null) Object.assign(row, { fact_set_id: facts.fact_set_id, facts_revision: facts.revision })
  if (residual_pdf !== null) Object.assign(row, { residual_status: residual_pdf.status, residual_form_keys: residual_pdf.form_keys })
  const unreadable: string[] = []
  const lists = [...applicationLists(raw, workflow_version, unreadable), ...factLists(raw['facts'], facts?.fact_set_id ?? null, unreadable)]
  return { submission: null, lists: [{ table: 'application_workspaces', of: {}, rows: [row], whole: true }, ...lists], unreadable }
}

/** Without the structured workflow there are no applications, which says nothing about those that were there. */
function applicationLists(raw: Readonly<Record<string, unknown>>, workflow: string | null, unreadable: string[]): ViewList[] {
  const given = itemsIn(raw, 'applications')
  if (given === null) return []
  const read = keyedRows(given, 'application_id', readApplication)
  unreadable.push(...read.unreadable)
  const isLegacy = workflow === 'legacy' && read.rows.length === 0
  const byId = new Map<string, unknown>()
  for (const { raw: one } of given) {
    const known = application.safeParse(one).data
    if (known) byId.set(known.application_id, one)
  }
  return [
    { table: 'applications', of: {}, rows: read.rows, whole: read.whole && !isLegacy },
    ...[...byId].flatMap(([application_id, one]) => answerList(application_id, one)),
  ]
}

function readApplication(raw: unknown): Item | null {
  const read = application.safeParse(raw).data
  if (!read || !isObject(raw)) return null
  const columns = Object.fromEntries(Object.keys(application.shape).map((name) => [name, read[name as keyof typeof read] as Row[string]]))
  const { application_id: _, ...rest } = columns
  return { id: read.application_id, columns: { ...rest, result: jsonOf(raw['result'] ?? null) } }
}

/** One row for each key with an answer or an owner: of an answer that was cleared only the owner is left. */
function answerList(application_id: string, raw: unknown): ViewList[] {
  const { answers, ownership } = isObject(raw) ? raw : {}
  if (!isObject(answers)) return []
  const owners = isObject(ownership) ? ownership : {}
  const keys = [...new Set([...Object.keys(answers), ...Object.keys(owners)])]
  const rows = readAll(
    keys,
    (key) => readAnswer(String(key), answers, owners),
    (row) => String(row['question_key']),
  )
  return [
    {
      table: 'application_answers',
      of: { application_id },
      rows: rows.items.map((row) => ({ ...row, application_id })),
      whole: rows.whole,
    },
  ]
}

function readAnswer(key: string, answers: Readonly<Record<string, unknown>>, owners: Readonly<Record<string, unknown>>): Row | null {
  const question_key = keyOf(key)
  if (question_key === null) return null
  const given = owner.safeParse(owners[key]).data
  return {
    question_key,
    value: jsonOf(answers[key] ?? null),
    ownership_kind: given?.kind ?? null,
    ownership_revision: given?.revision ?? null,
    source_id: given?.source.source_id ?? null,
    source_channel: given?.source.channel ?? null,
    source_evidence: given?.source.evidence ?? null,
  }
}

/** Sorted by source, facts that differ in nothing else have the same keys whatever their order in the answer. */
function factLists(raw: unknown, fact_set_id: string | null, unreadable: string[]): ViewList[] {
  const given = itemsIn(raw, 'facts')
  if (given === null) return []
  const facts = given.map(({ raw: one }): ReadFact => ({ raw: one, beside: readFact(one, fact_set_id) })).sort(bySource)
  const read = keyedRows(facts, 'fact_key', factItem)
  unreadable.push(...read.unreadable)
  return [{ table: 'facts', of: {}, rows: read.rows, whole: read.whole }]
}

/** A fact with all its columns: one that is left out would keep the value of the fact that had the key before. */
interface ReadFact extends Given {
  /** Empty when the fact cannot be read. */
  readonly beside: Row
}

function readFact(raw: unknown, fact_set_id: string | null): Row {
  const read = fact.safeParse(raw).data
  if (!read || !isObject(raw)) return {}
  const { key, scope, period, confirmed } = read
  const { source_id, content_hash, channel, evidence, snippet, extractor_version } = read.source
  return {
    ...{ fact_set_id, key, scope: scope ?? 'insured', period },
    ...{ value: jsonOf(raw['value'] ?? null), confirmed, source_id, content_hash, channel, evidence, snippet, extractor_version },
  }
}

function factItem(_: unknown, { fact_set_id = null, key, scope = null, period = null }: Row): Item | null {
  return key === undefined ? null : { key: null, identity: [fact_set_id, key, scope, period], columns: {} }
}

function bySource({ raw: a, beside: x }: ReadFact, { raw: b, beside: y }: ReadFact): number {
  return (
    compareTexts(x['source_id'], y['source_id']) || compareTexts(x['content_hash'], y['content_hash']) || compareTexts(rawOf(a), rawOf(b))
  )
}

function compareTexts(a: Json = null, b: Json = null): number {
  const [first, second] = [String(a ?? ''), String(b ?? '')]
  return first < second ? -1 : Number(first > second)
}
