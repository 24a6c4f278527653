import { createHash } from 'node:crypto'
import { matchingPrograms } from '../world/catalogue.ts'
import { uuidOf } from '../world/ids.ts'
import { type Question, questionOf } from '../world/questions.ts'
import type { Submission } from '../world/submission.ts'
import { applicationOf, factRevision, sourceFrom } from './applications.ts'

/**
 * Something that a lane still needs from the broker. While a submission is held, its items come from the matching
 * programs.
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
 * @returns programs that match a held submission, each with its open questions and files. The broker can answer the
 * questions and send the files before the release. Empty if the submission isn't held.
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

/** @returns the outstanding items. Each item appears once, with all markets that need it. */
export function outstandingView(submission: Submission) {
  const lanes = submission.shownLanes
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

/** @returns the application workspace: one application for each carrier session, and the facts. */
export function workspaceView(submission: Submission): Readonly<Record<string, unknown>> {
  const lanes = submission.shownLanes
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

/** @returns the carrier sessions. Each session contains its missing questions as JSON text. */
export function sessionsView(submission: Submission): readonly Readonly<Record<string, unknown>>[] {
  return submission.shownLanes.flatMap(({ session }) =>
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
  const source = sourceFrom('intake', 'broker_portal', createHash('sha256').update(facts.insured_name).digest('hex'))
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

function idFor({ id }: Submission, label: string): string {
  return uuidOf(`${id} ${label}`)
}
