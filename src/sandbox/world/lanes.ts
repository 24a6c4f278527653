import { timeFromMs } from '../../model/time.ts'
import type { Program } from './catalogue.ts'
import { categoryLabels, type Market, type Trade } from './names.ts'
import type { Prng } from './prng.ts'
import type { LaneInit, LanePatch } from './submission.ts'
import type { CarrierSession, RailQuote, RequirementItem, SourceOffer } from './wire.ts'

/** Of one offer in 64 the original lies with the carrier; the service itself has the others. */
const ON_ANOTHER_HOST = /^4[0-3]/

/** What a lane is opened with. */
export interface Opening {
  readonly laneId: string
  readonly program: Pick<Program, 'market' | 'programId' | 'marketId'>
  readonly lines: readonly string[]
  /** What only the broker can supply, in words, and what comes next while something is. */
  readonly needs: readonly string[]
  readonly nextStep: string
  readonly obtains: readonly string[]
  readonly items: Pick<LaneInit['assessment'], 'met' | 'unmet' | 'deferred'>
  readonly session: LaneInit['session']
  readonly atMs: number
}

/** @returns a lane that was just opened. */
export function openedLane({ laneId, program, lines, needs, nextStep, obtains, items, session, atMs }: Opening): LaneInit {
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

/** @returns a session with a carrier that has just begun. */
export function begunSession(
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

/** @returns a requirement of the broker that is due for the quote. */
export function requirement(key: string | null, label: string, repr: RequirementItem['repr'], satisfied: boolean | null): RequirementItem {
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

/** @returns a newly opened lane to `market` for a risk of `trade`. */
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

/** @returns the changes of a lane whose missing requirements have arrived. */
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

/** @returns the changes of a lane that has quotes, newest last, and the carrier's documents. */
export function quotedPatch(quotes: readonly RailQuote[], offers: readonly SourceOffer[]): LanePatch {
  return {
    rail: { quotes, source_offers: offers, status: 'quoted', status_label: 'Quoted', chip: 'quoted', next_step: 'Review the quote' },
    session: { status: 'completed', outcome: 'quoted', completion_pct: 100, missing_questions: [], has_quote: true },
  }
}

/** @returns the changes of a lane that ended without coverage. */
export function endedPatch(status: 'declined' | 'withdrawn' | 'blocked', label: string): LanePatch {
  return {
    rail: { status, status_label: label, chip: 'not_available', next_step: null },
    market: { ready: false },
    session: { status: 'ended', outcome: status },
  }
}

export function newQuote(prng: Prng, lines: readonly string[], revisionOf?: RailQuote): RailQuote {
  const cents = revisionOf ? Math.round(revisionOf.total_cents * (0.88 + prng.next() * 0.08)) : prng.int(180_000, 4_200_000)
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
