import { timeFromMs } from '../../model/time.ts'
import type { Lane, Submission } from '../world/submission.ts'
import type { Assessment, MarketReadiness, Rail, RequirementsView } from '../world/wire.ts'
import { bindRequestIdOf } from './binding.ts'

/** @returns the requirements view at the time `nowMs`. Hidden lanes are left out. */
export function requirementsView(submission: Submission, nowMs: number): RequirementsView {
  const lanes = submission.shownLanes
  const generatedAt = timeFromMs(nowMs)
  return {
    submission_id: submission.id,
    ...submission.facts,
    markets: lanes.map((lane) => marketOf(submission, lane)),
    carrier_api_sessions: lanes.flatMap((lane) => lane.session ?? []),
    assessment: submission.railAvailable ? assessmentOf(submission.id, lanes, generatedAt) : null,
    rail: submission.railAvailable ? railOf(submission, lanes, generatedAt) : null,
  }
}

/**
 * Adds the id of the lane's bind request. Clients find the id only here, because the specification has no list of bind
 * requests.
 */
function marketOf(submission: Submission, lane: Lane): MarketReadiness {
  const bindRequestId = bindRequestIdOf(submission, lane)
  return bindRequestId === null ? lane.market : { ...lane.market, bind_request_id: bindRequestId }
}

function assessmentOf(submissionId: string, lanes: readonly Lane[], generatedAt: string): Assessment {
  const programs = lanes.map((lane) => lane.assessment)
  return {
    submission_id: submissionId,
    generated_at: generatedAt,
    submitted_or_ready: programs.filter((program) => program.submit_ready).map((program) => program.market_name),
    gapped: programs.filter((program) => !program.submit_ready).map((program) => program.market_name),
    programs,
  }
}

function railOf(submission: Submission, lanes: readonly Lane[], generatedAt: string): Rail {
  return {
    generated_at: generatedAt,
    lanes: lanes.map((lane) => lane.rail),
    quote_history: submission.quoteHistoryUnavailable ? [] : submission.quoteHistory,
    quote_history_unavailable: submission.quoteHistoryUnavailable,
  }
}
