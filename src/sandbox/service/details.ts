import { createHash } from 'node:crypto'
import { uuidOf } from '../world/ids.ts'
import { type Question, questionOf } from '../world/questions.ts'
import type { Lane, Submission } from '../world/submission.ts'

/*
 * The reads beside the requirements view. They are made from the same data, so that a step of the story shows in all of them: what a lane
 * still needs is outstanding, and a carrier session is an application whose questions are answered in the end.
 */

interface OutstandingItem {
  readonly label: string
  readonly source: string
  readonly input: string
  readonly how_to_provide: string
}

function asked(label: string, question: Question | undefined): OutstandingItem {
  return { label, source: 'carrier_question', input: question?.input ?? 'number', how_to_provide: 'Answer it in the portal' }
}

/** @returns the outstanding requirements: what the programs need and the carriers ask, each once. */
export function outstandingView(submission: Submission) {
  const lanes = shownLanes(submission)
  const items = new Map<string, OutstandingItem & { markets: string[] }>()
  const add = (key: string, market: string, item: OutstandingItem) => {
    const known = items.get(key)
    if (known) known.markets.push(market)
    else items.set(key, { ...item, markets: [market] })
  }
  for (const { assessment, session, rail } of lanes) {
    for (const { key, label } of assessment.unmet) {
      const question = questionOf(key)
      if (question) add(`question:${question.key}`, rail.market_name, asked(label, question))
      else {
        add(key ?? `requirement:${label}`, rail.market_name, {
          label,
          source: 'requirement',
          input: 'file',
          how_to_provide: 'Reply in the thread with the file',
        })
      }
    }
    for (const { key, label } of session?.missing_questions ?? []) {
      add(`question:${key}`, rail.market_name, asked(label, questionOf(key)))
    }
  }
  return {
    submission_id: submission.id,
    form_fill_active: submission.facts.form_fill_active,
    items: [...items].map(([key, item]) => ({ key, ...item, options: questionOf(key.replace(/^question:/, ''))?.options ?? [] })),
    answerable_count: [...items.keys()].filter((key) => key.startsWith('question:')).length,
    markets_total: lanes.length,
  }
}

/** @returns the application workspace: an application for each carrier session, and the facts of the submission. */
export function workspaceView(submission: Submission): Readonly<Record<string, unknown>> {
  const lanes = shownLanes(submission)
  const workspaceId = idFor(submission, 'workspace')
  return {
    contract_version: 'structured_v1',
    workspace_id: workspaceId,
    workflow_version: lanes.some(({ session }) => session !== null) ? 'structured_v1' : 'legacy',
    facts: {
      contract_version: 'structured_v1',
      workspace_id: workspaceId,
      fact_set_id: idFor(submission, 'facts'),
      owner_host: 'service',
      owner_resource_id: submission.id,
      revision: 1,
      replica_applied_revision: 1,
      facts: factsOf(submission),
    },
    applications: lanes.flatMap((lane) => applicationsOf(submission, workspaceId, lane)),
    residual_pdf: { status: 'ready', form_keys: submission.facts.forms },
  }
}

/** @returns the carrier sessions, with the questions as JSON in text. */
export function sessionsView(submission: Submission): readonly Readonly<Record<string, unknown>>[] {
  return shownLanes(submission).flatMap(({ session }) =>
    session === null
      ? []
      : [
          {
            session_id: session.session_id,
            status: session.status,
            missing_required_questions_json: JSON.stringify(session.missing_questions),
          },
        ],
  )
}

function factsOf({ facts, taxId }: Submission) {
  const source = {
    ...{ source_id: 'intake', content_hash: createHash('sha256').update(facts.insured_name).digest('hex'), channel: 'broker_portal' },
    ...{ evidence: 'explicit', snippet: null, extractor_version: null },
  }
  const fact = (key: string, value: unknown, period: string | null = null) => ({
    key,
    value,
    scope: 'insured',
    period,
    source,
    confirmed: true,
  })
  return [
    fact('insured.name', facts.insured_name),
    fact('insured.state', facts.state),
    ...(taxId === null ? [] : [fact('applicant.fein', taxId)]),
    fact('policy.effective_date', facts.effective_date),
    fact('policy.lines', facts.lines, facts.effective_date.slice(0, 4)),
  ]
}

function applicationsOf(
  submission: Submission,
  workspaceId: string,
  { session, rail }: Lane,
): readonly Readonly<Record<string, unknown>>[] {
  if (session === null) return []
  const { taxId } = submission
  const questions = ['insured.name', ...(taxId === null ? [] : ['fein_or_ssn']), 'years_in_business']
  const missing = session.missing_questions.map(({ key }) => key)
  const years = missing.includes('years_in_business') ? {} : { years_in_business: 12 }
  const source = {
    source_id: 'intake',
    content_hash: 'intake',
    channel: 'mapping',
    evidence: 'translated',
    snippet: null,
    extractor_version: '1',
  }
  return [
    {
      application_id: session.session_id,
      workspace_id: workspaceId,
      connection_id: idFor(submission, `connection ${session.carrier_slug}`),
      provider_key: session.carrier_slug,
      program_identifier: session.program,
      owner_host: 'service',
      owner_session_id: session.session_id,
      route: 'service',
      market_program_id: rail.program_id,
      submission_id: submission.id,
      line_of_business: rail.lines[0] ?? null,
      schema: { fields: questions, required_field_keys: questions, program: session.program },
      schema_fingerprint: createHash('sha256').update(questions.join()).digest('hex'),
      answers: { 'insured.name': submission.facts.insured_name, ...(taxId === null ? {} : { fein_or_ssn: taxId }), ...years },
      ownership: { 'insured.name': { kind: 'derived', revision: 1, source, dependencies: ['insured.name'] } },
      answer_revision: missing.length === 0 ? 2 : 1,
      fact_revision: 1,
      selection_revision: 1,
      selected_products: rail.lines,
      available_products: rail.lines,
      mapping_state: 'idle',
      unresolved_dependencies: [],
      missing,
      errors: [],
      visible_fields: questions,
      readiness: missing.length === 0 ? 'ready_for_quote' : 'needs_information',
      request_state: session.has_quote ? 'completed' : 'draft',
      request_id: null,
      result: session.has_quote ? { outcome: session.outcome } : {},
      allowed_actions: missing.length === 0 ? ['request_quote'] : ['checkpoint'],
    },
  ]
}

function shownLanes(submission: Submission): Lane[] {
  return [...submission.lanes.values()].filter((lane) => lane.visible)
}

/** A uuid that depends on the submission and `label` alone. */
function idFor({ id }: Submission, label: string): string {
  return uuidOf(`${id} ${label}`)
}
