import { timeFromMs } from '../../model/time.ts'
import type { Program } from './catalogue.ts'
import { categoryLabels, type Market, type Trade } from './names.ts'
import type { Prng } from './prng.ts'
import { labelOf } from './questions.ts'
import type { LaneInit, LanePatch, Submission } from './submission.ts'
import type { CarrierSession, RailQuote, RequirementItem, SourceOffer } from './wire.ts'

/** Matches the presentation ids of about one offer in 64. The documents of these offers are on another host. */
const ON_ANOTHER_HOST = /^4[0-3]/

interface Opening {
  readonly laneId: string
  readonly program: Pick<Program, 'market' | 'programId' | 'marketId'>
  readonly lines: readonly string[]
  /**
   * `needs`: labels of what the broker must still provide. `nextStep`: text that the rail shows
   * while something is needed.
   */
  readonly needs: readonly string[]
  readonly nextStep: string
  readonly obtains: readonly string[]
  readonly items: Pick<LaneInit['assessment'], 'met' | 'unmet' | 'deferred'>
  readonly session: LaneInit['session']
  readonly atMs: number
}

function openedLane({ laneId, program, lines, needs, nextStep, obtains, items, session, atMs }: Opening): LaneInit {
  const { market, programId, marketId } = program
  const ready = needs.length === 0
  const named = { market_name: market.name, program: market.program, program_category: market.category }
  return {
    rail: {
      ...named,
      submission_market_id: laneId,
      market_id: marketId,
      program_id: programId,
      lines,
      status: 'submitted',
      status_label: 'Submitted',
      submit_ready: ready,
      gapped: !ready,
      unmet_labels: needs,
      quotes: [],
      source_offers: [],
      bound: false,
      chip: ready ? 'in_progress' : 'needs_info',
      carrier_api_session_ids: session ? [session.session_id] : [],
      next_step: ready ? null : nextStep,
    },
    market: {
      ...named,
      ready,
      needs_from_you: needs,
      hedge_obtains: obtains,
      lane_id: laneId,
      category_label: categoryLabels[market.category],
    },
    assessment: {
      submission_market_id: laneId,
      market_name: market.name,
      program_id: programId,
      program_display_name: market.program,
      channel: market.channel,
      program_category: market.category,
      enforcement: market.category === 'specialty' ? 'enforce' : 'report_only',
      submit_ready: ready,
      ...items,
      evaluated_at: timeFromMs(atMs),
    },
    session,
  }
}

function begunSession(
  sessionId: string,
  market: Market,
  { completion_pct, missing_questions }: Pick<CarrierSession, 'completion_pct' | 'missing_questions'>,
): CarrierSession {
  return {
    session_id: sessionId,
    carrier_slug: market.slug,
    program: market.program,
    status: 'running',
    outcome: null,
    completion_pct,
    missing_questions,
    has_quote: false,
  }
}

/** @returns a requirement that is due before the quote. */
function requirement(key: string | null, label: string, repr: RequirementItem['repr'], satisfied: boolean | null): RequirementItem {
  return {
    key,
    label,
    severity: 'hard',
    resolution: 'broker',
    repr,
    form_key: null,
    due_stage: 'quote',
    satisfied,
    blocks_submission: satisfied === false,
  }
}

/** @returns a new lane of a market, for a risk of the given trade. */
export function newLane(prng: Prng, market: Market, trade: Trade, atMs: number): LaneInit {
  const [laneId, programId] = [prng.uuid(), prng.uuid()]
  const needs = market.category === 'specialty' ? ['Five years of currently valued loss runs'] : []
  const session = market.category === 'instant_quote' ? newSession(prng, market) : null
  const signed = requirement('signed_application', 'Signed application', 'form', null)
  return openedLane({
    laneId,
    program: { market, programId, marketId: prng.uuid() },
    lines: prng.sample(trade.lines, prng.int(1, 2)),
    needs,
    nextStep: 'Send the loss runs',
    obtains: market.category === 'specialty' ? ['Statement of values'] : ['Prior policy number'],
    items: {
      met: [requirement('applicant.fein', 'Federal tax id', 'structured', true)],
      unmet: needs.map((label) => requirement(null, label, 'file', false)),
      deferred: [{ ...signed, due_stage: 'bind', form_key: trade.forms[0] ?? null }],
    },
    session,
    atMs,
  })
}

function newSession(prng: Prng, market: Market): CarrierSession {
  const [id, completion_pct] = [prng.uuid(), prng.int(30, 70)]
  return begunSession(id, market, { completion_pct, missing_questions: [{ key: 'years_in_business', label: 'Years in business' }] })
}

/** @returns the changes of a lane after everything that it needed has arrived. */
export function satisfiedPatch(lane: LaneInit): LanePatch {
  return {
    rail: {
      submit_ready: true,
      gapped: false,
      unmet_labels: [],
      chip: 'in_progress',
      next_step: null,
      status: 'in_review',
      status_label: 'In review',
    },
    market: { ready: true, needs_from_you: [] },
    assessment: {
      submit_ready: true,
      met: [...lane.assessment.met, ...lane.assessment.unmet.map((unmet) => ({ ...unmet, satisfied: true }))],
      unmet: [],
    },
  }
}

/**
 * @returns the changes of a lane that has quotes.
 * @param quotes the lane's quotes, oldest first.
 */
export function quotedPatch(quotes: readonly RailQuote[], offers: readonly SourceOffer[]): LanePatch {
  return {
    rail: { quotes, source_offers: offers, status: 'quoted', status_label: 'Quoted', chip: 'quoted', next_step: 'Review the quote' },
    session: { status: 'completed', outcome: 'quoted', completion_pct: 100, missing_questions: [], has_quote: true },
  }
}

/** @returns the changes of a lane that ends without coverage. */
export function endedPatch(status: 'declined' | 'withdrawn' | 'blocked', label: string): LanePatch {
  return {
    rail: { status, status_label: label, chip: 'not_available', next_step: null },
    market: { ready: false },
    session: { status: 'ended', outcome: status },
  }
}

/** @param totalCents total in cents. Default: a generated premium. */
export function newQuote(prng: Prng, lines: readonly string[], revisionOf?: RailQuote, totalCents?: number): RailQuote {
  const own = revisionOf ? Math.round(revisionOf.total_cents * (0.88 + prng.next() * 0.08)) : prng.int(180_000, 4_200_000)
  const cents = totalCents ?? own
  return { quote_id: prng.uuid(), premium_display: dollars(cents), total_cents: cents, lines, is_revision: revisionOf !== undefined }
}

export function newOffer(prng: Prng, market: Market): SourceOffer {
  const presentationId = prng.uuid()
  return {
    presentation_id: presentationId,
    kind: market.category === 'specialty' && prng.chance(0.4) ? 'indication' : 'quote',
    label: `${market.name} proposal`,
    document_url: ON_ANOTHER_HOST.test(presentationId)
      ? `https://documents.invalid/presentations/${presentationId}`
      : `/documents/presentation-${presentationId}.pdf`,
    filename: `${market.slug}-proposal.pdf`,
  }
}

function dollars(cents: number): string {
  return `$${(cents / 100).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
}

/**
 * @param lines the submission's lines of business that the program takes.
 * @returns the program's lane. Unanswered questions are in the carrier's session. If the lane has no session, the
 * questions are in the requirements.
 */
export function openLane(submission: Submission, program: Program, lines: readonly string[], atMs: number): LaneInit {
  const { market } = program
  const laneId = submission.newId()
  const asked = program.asks.filter((key) => !Object.hasOwn(submission.records.answers, key))
  const files = program.needs.filter((label) => !submission.records.provided?.includes(label))
  const needs = [...asked.map(labelOf), ...files]
  const session = market.channel === 'api' ? sessionOf(submission, program, asked) : null
  const questions = session ? [] : asked.map((key) => requirement(key, labelOf(key), 'structured', false))
  const signed = requirement('signed_application', 'Signed application', 'form', null)
  return openedLane({
    laneId,
    program,
    lines,
    needs,
    nextStep: `Provide: ${needs.join(', ')}`,
    obtains: market.category === 'specialty' ? ['Statement of values'] : [],
    items: {
      met: [],
      unmet: [...questions, ...files.map((label) => requirement(null, label, 'file', false))],
      deferred: [{ ...signed, due_stage: 'bind', blocks_submission: null }],
    },
    session,
    atMs,
  })
}

function sessionOf(submission: Submission, { market }: Program, asked: readonly string[]): CarrierSession {
  const missing_questions = asked.map((key) => ({ key, label: labelOf(key) }))
  return begunSession(submission.newId(), market, { completion_pct: asked.length === 0 ? 90 : 60, missing_questions })
}
