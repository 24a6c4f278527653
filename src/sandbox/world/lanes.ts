import { timeFromMs } from '../../model/time.ts'
import { categoryLabels, type Market, type Trade } from './names.ts'
import type { Prng } from './prng.ts'
import type { LaneInit, LanePatch } from './submission.ts'
import type { RailQuote, RequirementItem, SourceOffer } from './wire.ts'

/** @returns a newly opened lane to `market` for a risk of `trade`. */
export function newLane(prng: Prng, market: Market, trade: Trade, evaluatedAtMs: number): LaneInit {
  const laneId = prng.uuid()
  const programId = prng.uuid()
  const needs = market.category === 'specialty' ? ['Five years of currently valued loss runs'] : []
  const session = market.category === 'instant_quote' ? newSession(prng, market) : null
  return {
    rail: {
      submission_market_id: laneId,
      market_id: prng.uuid(),
      market_name: market.name,
      program: market.program,
      program_id: programId,
      program_category: market.category,
      lines: prng.sample(trade.lines, prng.int(1, 2)),
      status: 'submitted',
      status_label: 'Submitted',
      submit_ready: needs.length === 0,
      gapped: needs.length > 0,
      unmet_labels: needs,
      quotes: [],
      source_offers: [],
      bound: false,
      chip: needs.length > 0 ? 'needs_info' : 'in_progress',
      carrier_api_session_ids: session ? [session.session_id] : [],
      next_step: needs.length > 0 ? 'Send the loss runs' : null,
    },
    market: {
      market_name: market.name,
      ready: needs.length === 0,
      needs_from_you: needs,
      hedge_obtains: market.category === 'specialty' ? ['Statement of values'] : ['Prior policy number'],
      lane_id: laneId,
      program: market.program,
      program_category: market.category,
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
      submit_ready: needs.length === 0,
      met: [item('applicant.fein', 'Federal tax id', true)],
      unmet: needs.map((label) => item(null, label, false)),
      deferred: [
        { ...item('signed_application', 'Signed application', null), due_stage: 'bind', repr: 'form', form_key: trade.forms[0] ?? null },
      ],
      evaluated_at: timeFromMs(evaluatedAtMs),
    },
    session,
  }
}

function newSession(prng: Prng, market: Market): NonNullable<LaneInit['session']> {
  return {
    session_id: prng.uuid(),
    carrier_slug: market.slug,
    program: market.program,
    status: 'running',
    outcome: null,
    completion_pct: prng.int(30, 70),
    missing_questions: [{ key: 'years_in_business', label: 'Years in business' }],
    has_quote: false,
  }
}

function item(key: string | null, label: string, satisfied: boolean | null): RequirementItem {
  return {
    key,
    label,
    severity: 'hard',
    resolution: 'broker',
    repr: key === null ? 'file' : 'structured',
    form_key: null,
    due_stage: 'quote',
    satisfied,
    blocks_submission: satisfied === false,
  }
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
    document_url: `https://documents.invalid/presentations/${presentationId}`,
    filename: `${market.slug}-proposal.pdf`,
  }
}

function dollars(cents: number): string {
  return `$${(cents / 100).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
}
