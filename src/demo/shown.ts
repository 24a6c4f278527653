import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Row } from '../model/entity.ts'
import type { Json } from '../model/json.ts'

/*
 * Computes the rows that the mirror should have, from the service's data. Shares no code with `upstream/`. An error in
 * `upstream/` therefore shows as a difference.
 */

const item = z.record(z.string(), z.json())
const items = z.array(item)
type Item = z.output<typeof item>

const attachment = z.object({ name: z.string(), download_path: z.string().nullable() })
const message = z.object({ attachments: z.array(attachment) }).catchall(z.json())
const lane = z.object({ submission_market_id: z.string(), quotes: items, source_offers: items }).catchall(z.json())
const rail = z.object({ lanes: z.array(lane), quote_history: items, quote_history_unavailable: z.boolean() })
const assessment = z.object({ programs: items })
const requirements = z
  .object({
    markets: items,
    carrier_api_sessions: items,
    documents_on_file: items,
    assessment: assessment.nullable(),
    rail: rail.nullable(),
  })
  .catchall(z.json())
const outstanding = z.object({ items, form_fill_active: z.boolean(), answerable_count: z.number(), markets_total: z.number() })
const factSet = z.object({ fact_set_id: z.string(), revision: z.number(), facts: items })
const workspace = z
  .object({
    facts: factSet.nullable(),
    applications: items,
    residual_pdf: z.object({ status: z.string(), form_keys: z.array(z.string()) }),
  })
  .catchall(z.json())

/** Everything that the service shows for one submission. */
export const submissionTruth = z.object({
  submission_id: z.string(),
  events: items,
  messages: z.array(message),
  requirements,
  outstanding,
  workspace,
  sessions: items,
  bind_requests: items,
  policies: items,
})
type SubmissionTruth = z.output<typeof submissionTruth>

type Shown = Readonly<Record<string, readonly Row[] | undefined>>

/** @returns the rows that the mirror should have for a submission, by table. */
export function shownOf(truth: SubmissionTruth): Shown {
  const {
    requirements: view,
    outstanding: { items: _, ...counts },
    bind_requests,
    policies,
  } = truth
  const outstandingCounts = Object.fromEntries(Object.entries(counts).map(([name, value]) => [`outstanding_${name}`, value]))
  return {
    submissions: [{ ...view, ...outstandingCounts } as Row],
    ...shownFeeds(truth),
    ...shownView(view),
    ...shownDetails(truth),
    bind_requests,
    bind_assumptions: partsOf(bind_requests, 'unconfirmed_assumptions', (part) => ({ ...part, value: part['value'] ?? null })),
    bind_contingencies: partsOf(bind_requests, 'contingencies', ({ id = null, ...part }) => ({ ...part, contingency_id: id })),
    policies: policies.map(policyOf),
    insureds: [...new Set(policies.map(({ insured_id = null }) => insured_id))].map((insured_id) => ({ insured_id })),
    // If the answer has no rail, don't compare documents, because the mirror keeps the documents of an earlier rail.
    documents: view.rail ? shownDocuments({ ...truth, offers: view.rail.lanes.flatMap((one) => one.source_offers) }) : undefined,
  }
}

function shownFeeds({ events, messages }: SubmissionTruth): Shown {
  return {
    market_events: events.map(({ id = null, market, ...event }) => {
      const { name = null, lines = null, lane_id = null, category = null } = item.parse(market)
      return { ...event, event_id: id, market_name: name, market_lines: lines, lane_id, category }
    }),
    thread_messages: messages.map(({ id = null, from = null, to = null, attachments: _, ...message }) => ({
      ...message,
      message_id: id,
      from_address: from,
      to_addresses: to,
    })),
    thread_attachments: messages.flatMap(({ id = null, attachments }) =>
      attachments.map((one, position) => ({ ...one, message_id: id, position })),
    ),
  }
}

function shownView(view: SubmissionTruth['requirements']): Shown {
  const { rail } = view
  const programs = view.assessment?.programs
  const ofLanes = (list: 'quotes' | 'source_offers') =>
    rail?.lanes.flatMap((one) => one[list].map((part) => ({ ...part, lane_id: one.submission_market_id })))
  return {
    lanes: rail?.lanes.map(({ submission_market_id, quotes: _, source_offers: __, ...one }) => ({ ...one, lane_id: submission_market_id })),
    quotes: ofLanes('quotes'),
    source_offers: ofLanes('source_offers'),
    quote_history: rail?.quote_history_unavailable ? undefined : rail?.quote_history,
    market_readiness: numbered(view.markets, 'readiness_key', (market) => hashOf(market, 'lane_id', 'market_name', 'program')),
    documents_on_file: numbered(view.documents_on_file, 'item_key', (document) => hashOf(document, 'kind', 'display_name')),
    program_assessments: programs?.map((program) => ({ ...program, ...ofProgram(program) })),
    requirement_items: programs?.flatMap(requirementsOf),
  }
}

/** Fact and question that contain a tax id, and the text that replaces a tax id by default. */
const [TAX_ID_FACT, TAX_ID_QUESTION, PROTECTED] = ['applicant.fein', 'fein_or_ssn', '[protected]']

function shownDetails({ requirements: view, outstanding, workspace, sessions }: SubmissionTruth): Shown {
  const { facts, residual_pdf, ...own } = workspace
  const questions = new Map(sessions.map((one) => [String(one['session_id']), one['missing_required_questions_json']]))
  return {
    // Rows of this table come from the requirements view. Only `missing_required_questions` comes from the
    // answer to the read `sessions`: from the session with the same `session_id`.
    carrier_api_sessions: view.carrier_api_sessions.map((one) => {
      const text = questions.get(String(one['session_id']))
      return { ...one, missing_required_questions: typeof text === 'string' ? z.json().parse(JSON.parse(text)) : null }
    }),
    outstanding_items: numbered(outstanding.items, 'item_key', (one) => one['key'] ?? hashOf(one, 'label')),
    application_workspaces: [
      {
        ...own,
        fact_set_id: facts?.fact_set_id ?? null,
        facts_revision: facts?.revision ?? null,
        residual_status: residual_pdf.status,
        residual_form_keys: residual_pdf.form_keys,
      },
    ],
    applications: own.applications,
    application_answers: own.applications.flatMap(answersOf),
    facts: facts === null ? undefined : factsOf(facts),
  }
}

function partsOf(binds: readonly Item[], list: string, row: (part: Item) => Row): Row[] {
  return binds.flatMap(({ bind_request_id = null, [list]: parts }) =>
    items.parse(parts).map((part, position): Row => ({ ...row(part), position, bind_request_id })),
  )
}

/** Maps the fields of a policy to columns, as the default of the setting `record_fields` does. */
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

function factsOf({ fact_set_id, facts }: z.output<typeof factSet>): Row[] {
  const hidden = { value: PROTECTED, content_hash: PROTECTED, evidence: PROTECTED }
  const all = facts.map(({ source, ...fact }) => ({
    fact_set_id,
    ...fact,
    ...(source as Item),
    ...(fact['key'] === TAX_ID_FACT && hidden),
  }))
  const orderOf = (fact: Item) => JSON.stringify([fact['source_id'] ?? '', fact['content_hash'] ?? ''])
  const sorted = all.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
  return numbered(sorted, 'fact_key', (fact) => hashOf(fact, 'fact_set_id', 'key', 'scope', 'period'))
}

function ofProgram({ submission_market_id = null, program_id = null }: Item): Item {
  return { lane_id: submission_market_id, program_key: program_id }
}

function requirementsOf(program: Item): Row[] {
  const all = ['met', 'unmet', 'deferred'].flatMap((result) =>
    items.parse(program[result]).map((one): Item => ({ ...one, ...ofProgram(program), result })),
  )
  return numbered(all, 'item_key', (one) => one['key'] ?? hashOf(one, 'label'))
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

const policy = z.object({ documents: z.array(z.object({ name: z.string(), download_path: z.string().nullable() })).default([]) })
const offer = z.object({ presentation_id: z.string(), document_url: z.string(), filename: z.string() })

interface DocumentTruth {
  readonly messages: readonly { readonly attachments: readonly { readonly name: string; readonly download_path: string | null }[] }[]
  readonly offers: readonly unknown[]
  readonly policies: readonly unknown[]
}

/**
 * Lists each document once. If several records name a document, a policy takes precedence over a carrier original, and
 * a carrier original over an attachment.
 */
function shownDocuments({ messages, offers, policies }: DocumentTruth): Row[] {
  const ofPolicies = policies.flatMap((one) => policy.parse(one).documents.map((each) => rowOf('policy', each.name, each.download_path)))
  const originals = z
    .array(offer)
    .parse(offers)
    .map(
      ({ presentation_id, document_url, filename }): Row => ({
        ...rowOf('carrier_original', filename, document_url, presentation_id),
        download_path: null,
        document_url,
      }),
    )
  const attached = messages.flatMap(({ attachments }) =>
    attachments.map(({ name, download_path }) => rowOf('attachment', name, download_path)),
  )
  const all = [...ofPolicies, ...originals, ...attached].filter((row) => row['document_key'] !== null)
  return [...new Map(all.toReversed().map((row) => [row['document_key'], row])).values()]
}

function rowOf(origin: string, name: string, link: string | null, identity = name): Row {
  const id = /finalized-documents\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/pdf$/.exec(link ?? '')?.[1] ?? null
  const document_key = id ?? (link === null ? null : createHash('sha256').update(`${link} ${identity}`).digest('hex'))
  return { document_key, document_id: id, origin, name, download_path: link, document_url: null }
}
