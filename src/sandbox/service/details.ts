import { createHash } from 'node:crypto'
import { uuidOf } from '../world/ids.ts'
import { type Question, questionOf } from '../world/questions.ts'
import type { Lane, Submission } from '../world/submission.ts'
import { applicationOf, factRevision } from './applications.ts'
import { matchingPrograms } from './matching.ts'

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

function file(label: string): OutstandingItem {
  return { label, source: 'requirement', input: 'file', how_to_provide: 'Reply in the thread with the file' }
}

/**
 * "Documents can be attached and requirements answered first": what the programs that would take a held submission will ask for.
 * @returns these programs, with what is still open of each. Other submissions have none.
 */
function heldPrograms(submission: Submission) {
  const { answers, brief, provided } = submission.records
  if (brief === null || submission.facts.marketing_status !== 'not_started') return []
  return matchingPrograms(submission, {}).map(({ program: { asks, market, needs } }) => ({
    market,
    asks: asks.filter((key) => !Object.hasOwn(answers, key)),
    needs: needs.filter((label) => !provided?.includes(label)),
  }))
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
  const early = heldPrograms(submission)
  for (const { market, asks, needs } of early) {
    for (const key of asks) add(`question:${key}`, market.name, asked(questionOf(key)?.label ?? key, questionOf(key)))
    for (const label of needs) add(`requirement:${label}`, market.name, file(label))
  }
  for (const { assessment, session, rail } of lanes) {
    for (const { key, label } of assessment.unmet) {
      const question = questionOf(key)
      if (question) add(`question:${question.key}`, rail.market_name, asked(label, question))
      else add(key ?? `requirement:${label}`, rail.market_name, file(label))
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
    markets_total: lanes.length + early.length,
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
      revision: factRevision(submission),
      replica_applied_revision: factRevision(submission),
      facts: factsOf(submission),
    },
    applications: lanes.flatMap((lane) => applicationOf(submission, lane) ?? []),
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

function factsOf({ facts, records, taxId }: Submission) {
  const source = {
    source_id: 'intake',
    content_hash: createHash('sha256').update(facts.insured_name).digest('hex'),
    channel: 'broker_portal',
    evidence: 'explicit',
    snippet: null,
    extractor_version: null,
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
    ...Object.entries(records.answers).map(([key, value]) => fact(key, value)),
  ]
}

function shownLanes(submission: Submission): Lane[] {
  return [...submission.lanes.values()].filter((lane) => lane.visible)
}

/** A uuid that depends on the submission and `label` alone. */
function idFor({ id }: Submission, label: string): string {
  return uuidOf(`${id} ${label}`)
}
