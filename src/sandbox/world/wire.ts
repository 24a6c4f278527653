/**
 * The service's wire types, written from the spec independently of the mirror's own schemas (`upstream/wire`). Shared types would hide a
 * misreading of the spec from tests that run one against the other.
 */

/** One of the three groups of markets ("ProgramCategory"). */
export type ProgramCategory = 'instant_quote' | 'binding' | 'specialty'

/** An item of the events feed. */
export interface MarketEvent {
  readonly id: string
  readonly type: string
  readonly occurred_at: string
  readonly market: EventMarket
  readonly status: string
  readonly status_label: string
  readonly detail: string | null
}

export interface EventMarket {
  readonly name: string
  readonly lines: readonly string[]
  /** Equals `rail.lanes[].submission_market_id`. */
  readonly lane_id: string | null
  readonly category: ProgramCategory
}

/** An item of the thread feed. */
export interface ThreadMessage {
  readonly id: string
  readonly channel: 'email' | 'chat'
  readonly direction: 'inbound' | 'outbound'
  readonly kind: string
  readonly occurred_at: string
  readonly subject: string | null
  readonly body_text: string
  readonly from: string | null
  readonly to: readonly string[]
  readonly attachments: readonly Attachment[]
  readonly in_reply_to: string | null
}

export interface Attachment {
  readonly name: string
  /** Relative to the base URL; null until the file is a finalized document. */
  readonly download_path: string | null
}

/** The requirements view. */
export interface RequirementsView extends SubmissionFacts {
  readonly submission_id: string
  readonly markets: readonly MarketReadiness[]
  readonly carrier_api_sessions: readonly CarrierSession[]
  readonly assessment: Assessment | null
  readonly rail: Rail | null
}

/** The requirements view's fields about the submission itself. */
export interface SubmissionFacts {
  readonly insured_name: string
  readonly lines: readonly string[]
  readonly effective_date: string
  readonly state: string
  readonly forms: readonly string[]
  readonly marketing_status: 'not_started' | 'matching' | 'matched' | 'no_markets_matched'
  readonly marketing_hint: string | null
  readonly form_fill_active: boolean
  readonly documents_on_file: readonly DocumentOnFile[]
}

export interface MarketReadiness {
  readonly market_name: string
  readonly ready: boolean
  readonly needs_from_you: readonly string[]
  readonly hedge_obtains: readonly string[]
  readonly lane_id: string | null
  readonly program: string | null
  readonly program_category: ProgramCategory
  readonly category_label: string | null
  /** Not in the specification: without it nobody would know the id. */
  readonly bind_request_id?: string
}

export interface CarrierSession {
  readonly session_id: string
  readonly carrier_slug: string
  readonly program: string
  readonly status: string
  readonly outcome: string | null
  readonly completion_pct: number
  readonly missing_questions: readonly { readonly key: string; readonly label: string }[]
  readonly has_quote: boolean
}

export interface DocumentOnFile {
  readonly kind: string
  readonly kind_label: string
  readonly display_name: string
}

export interface Assessment {
  readonly submission_id: string
  readonly generated_at: string
  readonly submitted_or_ready: readonly string[]
  readonly gapped: readonly string[]
  readonly programs: readonly ProgramAssessment[]
}

export interface ProgramAssessment {
  readonly submission_market_id: string
  readonly market_name: string
  readonly program_id: string
  readonly program_display_name: string
  readonly channel: 'email' | 'api' | 'portal'
  readonly program_category: ProgramCategory
  readonly enforcement: 'enforce' | 'report_only' | 'none'
  readonly submit_ready: boolean
  readonly met: readonly RequirementItem[]
  readonly unmet: readonly RequirementItem[]
  readonly deferred: readonly RequirementItem[]
  readonly evaluated_at: string
}

export interface RequirementItem {
  readonly key: string | null
  readonly label: string
  readonly severity: 'hard' | 'preferred'
  readonly resolution: 'broker' | 'auto' | 'internal'
  readonly repr: 'structured' | 'free_text' | 'form' | 'file'
  readonly form_key: string | null
  readonly due_stage: 'quote' | 'bind'
  readonly satisfied: boolean | null
  readonly blocks_submission: boolean | null
}

export interface Rail {
  readonly generated_at: string
  readonly lanes: readonly RailLane[]
  readonly quote_history: readonly QuoteHistoryItem[]
  readonly quote_history_unavailable: boolean
}

export interface RailLane {
  readonly submission_market_id: string
  readonly market_id: string
  readonly market_name: string
  readonly program: string
  readonly program_id: string
  readonly program_category: ProgramCategory
  readonly lines: readonly string[]
  readonly status: string
  readonly status_label: string
  readonly submit_ready: boolean
  readonly gapped: boolean
  readonly unmet_labels: readonly string[]
  readonly quotes: readonly RailQuote[]
  readonly source_offers: readonly SourceOffer[]
  readonly bound: boolean
  readonly chip: 'bound' | 'quoted' | 'not_available' | 'needs_info' | 'in_progress'
  readonly carrier_api_session_ids: readonly string[]
  readonly next_step: string | null
}

export interface RailQuote {
  readonly quote_id: string
  readonly premium_display: string
  readonly total_cents: number
  readonly lines: readonly string[]
  readonly is_revision: boolean
}

export interface SourceOffer {
  readonly presentation_id: string
  readonly kind: 'quote' | 'indication'
  readonly label: string
  readonly document_url: string
  readonly filename: string
}

export interface QuoteHistoryItem {
  readonly history_key: string
  readonly market_name: string
  readonly program: string
  readonly outcome: 'expired' | 'invalid'
  readonly observed_at: string
}
