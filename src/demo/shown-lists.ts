import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Entity, Row } from '../model/entity.ts'
import type { Json } from '../model/json.ts'
import { parseTime } from '../model/time.ts'

/*
 * Which rows the mirror should have of the lists that the service's truth shows. Columns follow from the descriptors: a field of an item is
 * the column of its name. Only where a list stands and what its key is made of is said here, apart from `upstream/`: a misreading there must
 * show.
 */

const item = z.record(z.string(), z.json())
const items = z.array(item)
type Item = z.output<typeof item>

/** What the truth of a requirements view has beside the rail. */
export const readinessTruth = z.object({
  markets: items,
  carrier_api_sessions: items,
  documents_on_file: items,
  assessment: z.looseObject({ programs: items }).nullable(),
})

/** What the truth has of the reads beside the requirements view. */
export const detailTruth = z.object({
  outstanding: z.looseObject({ items, form_fill_active: z.boolean(), answerable_count: z.number(), markets_total: z.number() }),
  workspace: z.looseObject({
    workspace_id: z.string().nullable(),
    contract_version: z.string(),
    workflow_version: z.string(),
    facts: z.looseObject({ fact_set_id: z.string(), revision: z.number(), facts: items }),
    applications: z.array(z.record(z.string(), z.json())),
    residual_pdf: z.looseObject({ status: z.string(), form_keys: z.array(z.string()) }),
  }),
  sessions: items,
})

/** What the truth has of bind requests and policies. */
export const bindTruth = z.object({ bind_requests: items, policies: items })

/** The rows of each table; undefined: the truth shows no such list. */
export type ShownLists = Readonly<Record<string, readonly Row[] | undefined>>

export function shownReadiness(view: z.output<typeof readinessTruth>): ShownLists {
  const programs = view.assessment?.programs
  return {
    market_readiness: numbered(view.markets, 'readiness_key', (market) => hashOf(market, 'lane_id', 'market_name', 'program')),
    carrier_api_sessions: view.carrier_api_sessions,
    documents_on_file: numbered(view.documents_on_file, 'item_key', (document) => hashOf(document, 'kind', 'display_name')),
    program_assessments: programs?.map((program) => ({ ...program, ...ofProgram(program) })),
    requirement_items: programs?.flatMap(requirementsOf),
  }
}

/** Of the sandbox's tax ids the mirror holds, by default, only that there is one. */
const [TAX_ID_FACT, TAX_ID_QUESTION, PROTECTED] = ['applicant.fein', 'fein_or_ssn', '[protected]']

/** @param sessions of the requirements view: one row has what both reads show. */
export function shownDetails({ outstanding, workspace, sessions }: z.output<typeof detailTruth>, ofView: readonly Row[]): ShownLists {
  const { facts, residual_pdf, ...own } = workspace
  const questions = new Map(sessions.map((one) => [String(one['session_id']), one['missing_required_questions_json']]))
  return {
    carrier_api_sessions: ofView.map((one) => {
      const text = questions.get(String(one['session_id']))
      return { ...one, missing_required_questions: typeof text === 'string' ? z.json().parse(JSON.parse(text)) : null }
    }),
    outstanding_items: numbered(outstanding.items, 'item_key', (one) => one['key'] ?? hashOf(one, 'label')),
    application_workspaces: [
      {
        workspace_id: own.workspace_id,
        contract_version: own.contract_version,
        workflow_version: own.workflow_version,
        fact_set_id: facts.fact_set_id,
        facts_revision: facts.revision,
        residual_status: residual_pdf.status,
        residual_form_keys: residual_pdf.form_keys,
      },
    ],
    applications: own.applications,
    application_answers: own.applications.flatMap(answersOf),
    facts: factsOf(facts).map((fact) => ({
      ...fact,
      ...(fact['key'] === TAX_ID_FACT ? { value: PROTECTED, content_hash: PROTECTED, evidence: PROTECTED } : {}),
    })),
  }
}

export function shownBinds({ bind_requests, policies }: z.output<typeof bindTruth>): ShownLists {
  const partsOf = (list: string, row: (part: Item, position: number) => Row) =>
    bind_requests.flatMap(({ bind_request_id = null, [list]: parts }) =>
      items.parse(parts).map((part, position): Row => ({ ...row(part, position), bind_request_id })),
    )
  return {
    bind_requests,
    bind_assumptions: partsOf('unconfirmed_assumptions', (part, position) => ({ ...part, value: part['value'] ?? null, position })),
    bind_contingencies: partsOf('contingencies', ({ id = null, ...part }) => ({ ...part, contingency_id: id })),
    policies: policies.map(policyOf),
    insureds: [...new Set(policies.map(({ insured_id = null }) => insured_id))].map((insured_id) => ({ insured_id })),
  }
}

/** The sandbox's own fields, of which the defaults of `record_fields` know. */
function policyOf({ policy_id = null, policy_number = null, ...policy }: Item): Row {
  const part = (name: string) => item.parse(policy[name] ?? {})
  const [paper, premium, commission] = [part('underwriting_paper'), part('premium'), part('commission')]
  return {
    policy_id,
    policy_number,
    lines: policy['coverage_lines'] ?? null,
    carrier_name: part('carrier')['name'] ?? null,
    naic_code: paper['naic_code'] ?? null,
    admitted: paper['admitted'] ?? null,
    effective_date: part('term')['effective_date'] ?? null,
    expiration_date: part('term')['expiration_date'] ?? null,
    net_premium_cents: premium['net_cents'] ?? null,
    fees_cents: premium['fees_cents'] ?? null,
    taxes_cents: premium['taxes_cents'] ?? null,
    total_billed_cents: premium['total_billed_cents'] ?? null,
    commission_rate: commission['rate'] ?? null,
    commission_cents: commission['amount_cents'] ?? null,
    payment_terms: policy['payment_terms'] ?? null,
  }
}

function answersOf(application: Item): Row[] {
  const { application_id = null, answers, ownership } = application
  const [given, owners] = [item.parse(answers), item.parse(ownership)]
  return Object.keys({ ...given, ...owners }).map((question_key): Row => {
    const owner = item.parse(owners[question_key] ?? {})
    const source = item.parse(owner['source'] ?? {})
    return {
      application_id,
      question_key,
      value: question_key === TAX_ID_QUESTION ? PROTECTED : (given[question_key] ?? null),
      ownership_kind: owner['kind'] ?? null,
      ownership_revision: owner['revision'] ?? null,
      source_id: source['source_id'] ?? null,
      source_channel: source['channel'] ?? null,
      source_evidence: source['evidence'] ?? null,
    }
  })
}

function factsOf({ fact_set_id, facts }: z.output<typeof detailTruth>['workspace']['facts']): Row[] {
  const all = facts.map(({ source, ...fact }) => ({ fact_set_id, ...fact, ...(source as Item) }))
  const orderOf = (fact: Item) => JSON.stringify([fact['source_id'] ?? '', fact['content_hash'] ?? ''])
  const sorted = all.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
  return numbered(sorted, 'fact_key', (fact) => hashOf(fact, 'fact_set_id', 'key', 'scope', 'period'))
}

/** The sandbox gives each program of a lane an id. */
function ofProgram({ submission_market_id = null, program_id = null }: Item): Item {
  return { lane_id: submission_market_id, program_key: program_id }
}

function requirementsOf(program: Item): Row[] {
  const all = ['met', 'unmet', 'deferred'].flatMap((result) =>
    items.parse(program[result]).map((one): Item => ({ ...one, ...ofProgram(program), result })),
  )
  return numbered(all, 'item_key', (one) => one['key'] ?? hashOf(one, 'label'))
}

/** @returns the item's columns in the table: fields that its descriptor has, times as the mirror writes them. */
export function rowOf(entity: Entity, item: Row): Row {
  const known = Object.entries(entity.fields).filter(([column, { local, kind }]) => local !== true && kind !== 'raw' && column in item)
  return Object.fromEntries(
    known.flatMap(([column, { kind, volatile }]): [string, Json][] => {
      const value = item[column] ?? null
      if (volatile) return []
      return [[column, kind === 'time' && typeof value === 'string' ? parseTime(value) : value]]
    }),
  )
}

function numbered(list: readonly Item[], column: string, keyOf: (item: Item) => Json): Row[] {
  const seen = new Map<string, number>()
  return list.map((one) => {
    const key = String(keyOf(one))
    const n = (seen.get(key) ?? 0) + 1
    seen.set(key, n)
    return { ...one, [column]: n === 1 ? key : `${key}#${n}` }
  })
}

function hashOf(of: Item, ...fields: readonly string[]): string {
  const identity = fields.map((field) => of[field] ?? null)
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex')
}
