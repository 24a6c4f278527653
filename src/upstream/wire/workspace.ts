import { applicationAnswers } from '../../model/entities/application-answers.ts'
import { applicationWorkspaces } from '../../model/entities/application-workspaces.ts'
import { applications } from '../../model/entities/applications.ts'
import { facts } from '../../model/entities/facts.ts'
import { isObject, type Json } from '../../model/json.ts'
import type { View } from '../../model/view.ts'
import { rawOf, textOf } from './fields.ts'
import { itemsIn, Lists } from './lists.ts'
import { rowOf } from './row.ts'

/**
 * Reads the application workspace, its facts, and its applications with answers.
 * @returns null if the answer has no `workspace_id` and no version.
 */
export function readWorkspace(raw: unknown): View | null {
  const row = rowOf(applicationWorkspaces, raw)
  if (row === null || !isObject(raw)) return null
  const { workspace_id = null, workflow_version = null, contract_version = null } = row
  if (workspace_id === null && workflow_version === null && contract_version === null) return null
  const found = new Lists()
  found.lists.push({ table: applicationWorkspaces.table, of: {}, rows: [row], whole: true })
  const list = itemsIn(raw, 'applications')
  // A legacy workflow sends an empty list even if applications exist. Stored applications are then left unchanged.
  const isWhole = list !== null && !(row['workflow_version'] === 'legacy' && list.length === 0)
  for (const { row, item } of found.read(applications, list, { isWhole })) readAnswers(found, row['application_id'] ?? null, item)
  readFacts(found, raw['facts'], row['fact_set_id'] ?? null)
  return { submission: null, lists: found.lists, unreadable: found.unreadable }
}

/** Reads one row for each question with an answer or an owner. A cleared answer keeps its owner. */
function readAnswers(found: Lists, application_id: Json, application: unknown): void {
  const { answers, ownership } = isObject(application) ? application : {}
  const owners = isObject(ownership) ? ownership : {}
  const keys = isObject(answers) ? [...new Set([...Object.keys(answers), ...Object.keys(owners)])] : null
  const items =
    keys?.map((key) => ({ question_key: key, answers: isObject(answers) ? answers[key] : null, ownership: owners[key] })) ?? null
  found.read(applicationAnswers, items, { of: { application_id } })
}

/** Reads facts sorted by source. Otherwise, the keys of equal facts would depend on their order in the answer. */
function readFacts(found: Lists, answer: unknown, fact_set_id: Json): void {
  const items = itemsIn(answer, 'facts')?.toSorted(bySource) ?? null
  found.read(facts, items, { addColumns: ({ scope = null }) => ({ fact_set_id, scope: scope ?? 'insured' }) })
}

function bySource(a: unknown, b: unknown): number {
  const order = (fact: unknown) => {
    const { source_id, content_hash } = isObject(fact) && isObject(fact['source']) ? fact['source'] : {}
    return [textOf(source_id), textOf(content_hash), rawOf(fact)]
  }
  const [first, second] = [order(a), order(b)]
  return first.reduce((sooner, text, index) => sooner || compareTexts(text, second[index] ?? null), 0)
}

function compareTexts(a: string | null, b: string | null): number {
  const [first, second] = [a ?? '', b ?? '']
  return first < second ? -1 : Number(first > second)
}
