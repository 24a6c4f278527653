import type { Json } from '../../src/model/json.ts'
import type { EventObservation, MessageObservation, Observation, Origin, StateObservation } from '../../src/model/observations.ts'
import { dropping } from '../../src/model/protection/protection.ts'
import { type DetailRead, type IdRead, idReads } from '../../src/model/reads.ts'
import { timeFromMs } from '../../src/model/time.ts'
import type { View } from '../../src/model/view.ts'
import { readById } from '../../src/upstream/wire/binding.ts'
import { readEvent, readMessage } from '../../src/upstream/wire/feeds.ts'
import { readOutstanding, readRequirements } from '../../src/upstream/wire/requirements.ts'
import { readSessions } from '../../src/upstream/wire/sessions.ts'
import { readWorkspace } from '../../src/upstream/wire/workspace.ts'
import { defaultRecordFields } from './record-fields.ts'

export function uuid(family: number, n: number): string {
  return `${family.toString(16).padStart(8, '0')}-0000-4000-8000-${n.toString(16).padStart(12, '0')}`
}

export const START_MS = Date.UTC(2026, 0, 5, 12)

export function at(minute: number): string {
  return new Date(START_MS + minute * 60_000).toISOString()
}

export function wireEvent(n: number, over: Record<string, Json> = {}, market: Record<string, Json> = {}): Record<string, Json> {
  return {
    id: uuid(1, n),
    type: 'status_changed',
    occurred_at: at(n),
    market: { name: `Market ${n % 3}`, lines: ['general_liability'], lane_id: uuid(3, n % 3), category: 'binding', ...market },
    status: 'in_progress',
    status_label: 'In progress',
    detail: null,
    ...over,
  }
}

export function wireMessage(n: number, over: Record<string, Json> = {}): Record<string, Json> {
  return {
    id: uuid(2, n),
    channel: 'email',
    direction: 'outbound',
    kind: 'market_plan_update',
    occurred_at: at(n),
    subject: `Update ${n}`,
    body_text: `Text of message ${n}`,
    from: 'desk@service.example',
    to: ['producer@brokerage.example'],
    attachments: [{ name: 'quote.pdf', download_path: `/broker/finalized-documents/${uuid(4, n)}/pdf` }],
    in_reply_to: null,
    ...over,
  }
}

export function wireLane(n: number, over: Record<string, Json> = {}): Record<string, Json> {
  return {
    submission_market_id: uuid(3, n),
    market_id: uuid(5, n),
    market_name: `Market ${n}`,
    program: 'Main program',
    program_id: uuid(6, n),
    program_category: 'binding',
    lines: ['general_liability'],
    status: 'in_progress',
    status_label: 'In progress',
    submit_ready: true,
    gapped: false,
    unmet_labels: [],
    quotes: [],
    source_offers: [],
    bound: false,
    chip: 'in_progress',
    carrier_api_session_ids: [],
    next_step: null,
    ...over,
  }
}

export function wireRequirements(
  submissionId: string,
  lanes: Json[] | null,
  over: Record<string, Json> = {},
  rail: Record<string, Json> = {},
): Record<string, Json> {
  return {
    submission_id: submissionId,
    insured_name: 'Harbour Bakery LLC',
    lines: ['general_liability'],
    effective_date: '2026-03-01',
    state: 'TX',
    forms: [],
    marketing_status: 'matched',
    marketing_hint: null,
    form_fill_active: false,
    markets: [],
    carrier_api_sessions: [],
    documents_on_file: [],
    assessment: null,
    rail: lanes === null ? null : { generated_at: at(0), lanes, quote_history: [], quote_history_unavailable: false, ...rail },
    ...over,
  }
}

/** The rest of a requirements view, with an item in every list. */
export function wireReadiness(submissionId: string): Record<string, Json> {
  const item = { severity: 'hard', resolution: 'broker', repr: 'structured', form_key: null, due_stage: 'quote', blocks_submission: null }
  return {
    markets: [
      {
        market_name: 'Market 1',
        ready: false,
        needs_from_you: ['Payroll'],
        hedge_obtains: ['Loss runs'],
        lane_id: uuid(3, 1),
        program: 'Main program',
        program_category: 'binding',
        category_label: 'Binding',
      },
    ],
    carrier_api_sessions: [
      {
        session_id: uuid(11, 1),
        carrier_slug: 'acme',
        program: 'Main program',
        status: 'running',
        outcome: null,
        completion_pct: 62.5,
        missing_questions: [{ key: 'years', label: 'Years in business' }],
        has_quote: false,
      },
    ],
    documents_on_file: [{ kind: 'loss_runs', kind_label: 'Loss runs', display_name: 'Loss runs.pdf' }],
    assessment: {
      submission_id: submissionId,
      generated_at: at(0),
      submitted_or_ready: [],
      gapped: ['Market 1'],
      programs: [
        {
          submission_market_id: uuid(3, 1),
          market_name: 'Market 1',
          program_id: uuid(6, 1),
          program_display_name: 'Main program',
          channel: 'api',
          program_category: 'binding',
          enforcement: 'enforce',
          submit_ready: false,
          evaluated_at: at(0),
          met: [{ ...item, key: 'applicant.name', label: 'Name', satisfied: true }],
          unmet: [{ ...item, key: null, label: 'Payroll', satisfied: false }],
          deferred: [{ ...item, key: 'signed', label: 'Signed application', due_stage: 'bind', satisfied: null }],
        },
      ],
    },
  }
}

export function wireDetails(submissionId: string) {
  const source = {
    source_id: 's',
    content_hash: 'h',
    channel: 'document',
    evidence: 'explicit',
    snippet: 'twelve years',
    extractor_version: '1',
  }
  return {
    outstanding: {
      submission_id: submissionId,
      form_fill_active: false,
      answerable_count: 1,
      markets_total: 2,
      items: [
        {
          key: 'years',
          label: 'Years in business',
          source: 'carrier_question',
          input: 'select',
          how_to_provide: 'In the portal',
          options: [{ value: '1', label: 'One' }],
          markets: ['Market 1'],
        },
      ],
    },
    workspace: {
      contract_version: 'structured_v1',
      workspace_id: uuid(12, 1),
      workflow_version: 'structured_v1',
      facts: {
        contract_version: 'structured_v1',
        workspace_id: uuid(12, 1),
        fact_set_id: uuid(13, 1),
        revision: 7,
        facts: [{ key: 'years', value: 12, scope: 'insured', period: '2025', source, confirmed: true }],
      },
      applications: [
        {
          application_id: uuid(11, 1),
          workspace_id: uuid(12, 1),
          connection_id: 'c',
          provider_key: 'acme',
          program_identifier: 'main',
          owner_host: 'service',
          owner_session_id: 'o',
          route: 'direct',
          market_program_id: uuid(6, 1),
          submission_id: submissionId,
          line_of_business: 'gl',
          schema: { fields: ['years'] },
          schema_fingerprint: 'f',
          answers: { years: 12 },
          ownership: { years: { kind: 'derived', revision: 3, source, dependencies: [] } },
          answer_revision: 1,
          fact_revision: 2,
          selection_revision: 3,
          selected_products: ['a'],
          available_products: ['a', 'b'],
          mapping_state: 'idle',
          unresolved_dependencies: ['x'],
          missing: ['payroll'],
          errors: [{ payroll: 'missing' }],
          visible_fields: ['years', 'payroll'],
          readiness: 'needs_information',
          request_state: 'draft',
          request_id: 'r',
          result: { outcome: 'quoted' },
          allowed_actions: ['checkpoint'],
        },
      ],
      residual_pdf: { status: 'ready', form_keys: ['acord_125'] },
    },
    sessions: [{ session_id: uuid(11, 1), missing_required_questions_json: '[{"key":"years"}]' }],
  }
}

export function wireById(submissionId: string) {
  const [bind_request, policy, insured] = [uuid(14, 1), uuid(15, 1), uuid(16, 1)]
  return {
    ids: { bind_request, policy, insured },
    bind_request: {
      bind_request_id: bind_request,
      submission_id: submissionId,
      status: 'drafted',
      status_label: 'Draft',
      quote_id: uuid(7, 1),
      payment_option: 'annual',
      requested_at: at(1),
      requested_by: 'Jane Doe',
      effective_date: '2026-03-01',
      policy_id: policy,
      unconfirmed_assumptions: [{ key: 'years', label: 'Years in business', value: { least: 12 } }],
      contingencies: [
        {
          id: uuid(17, 1),
          kind: 'signed_form',
          label: 'Signed application',
          status: 'pending',
          required: true,
          upload_path: '/upload',
          esign_status: 'sent',
        },
      ],
      next_steps: ['Confirm'],
    },
    policy: {
      policy_id: policy,
      submission_id: submissionId,
      insured_id: insured,
      policy_number: 'POL-1',
      carrier: { name: 'Alder Insurance' },
      term: { effective_date: '2026-03-01', expiration_date: '2027-03-01' },
      premium: { total_billed_cents: 131_500 },
      commission: { amount_cents: 18_750 },
    },
    insured: { insured_id: insured, name: 'Harbour Bakery LLC', dba_name: 'The Bakery' },
  }
}

export function idFact(
  account: string,
  submissionId: string,
  read: IdRead,
  ownId: string,
  wire: unknown,
  readNo: number,
): StateObservation {
  const view = readById(read, ownId, wire, { recordFields: defaultRecordFields, protection: dropping })
  if (view === null) throw new Error(`not an answer of ${read}: ${JSON.stringify(wire)}`)
  return { kind: 'state', read, ownId, account, submissionId, cause: 'poll', view, readNo, readAt: timeFromMs(START_MS) }
}

export function idFacts(account: string, submissionId: string, readNo = 1): StateObservation[] {
  const wire = wireById(submissionId)
  return idReads.map((read) => idFact(account, submissionId, read, wire.ids[read], wire[read], readNo))
}

const detailReaders: Readonly<Record<DetailRead, (raw: unknown) => View | null>> = {
  outstanding: readOutstanding,
  workspace: readWorkspace,
  sessions: readSessions,
}

export function detailFact(account: string, submissionId: string, read: DetailRead, wire: unknown, readNo: number): StateObservation {
  const view = detailReaders[read](wire)
  if (view === null) throw new Error(`not an answer of ${read}: ${JSON.stringify(wire)}`)
  return { kind: 'state', read, account, submissionId, cause: 'poll', view, readNo, readAt: timeFromMs(START_MS) }
}

export const byWebhook: Origin = { via: 'webhook', cause: 'webhook', isFullRead: false, firstFeedRead: false }
export const byPoll: Origin = { via: 'poll', cause: 'poll', isFullRead: false, firstFeedRead: false }
export const byFullRead: Origin = { via: 'poll', cause: 'poll', isFullRead: true, firstFeedRead: false }
export const byFirstFeedRead: Origin = { via: 'poll', cause: 'poll', isFullRead: true, firstFeedRead: true }

export function observedEvent(account: string, submissionId: string, wire: unknown, origin: Origin = byWebhook): EventObservation {
  const event = readEvent(wire)
  if (event === null) throw new Error(`not an event: ${JSON.stringify(wire)}`)
  return { kind: 'event', account, submissionId, event, ...origin }
}

export function eventFacts(account: string, submissionId: string, count: number, from = 0): EventObservation[] {
  return Array.from({ length: count }, (_, n) => observedEvent(account, submissionId, wireEvent(from + n)))
}

export function observedMessage(account: string, submissionId: string, wire: unknown, origin: Origin = byWebhook): MessageObservation {
  const message = readMessage(wire)
  if (message === null) throw new Error(`not a message: ${JSON.stringify(wire)}`)
  return { kind: 'message', account, submissionId, message, ...origin }
}

export function observedState(account: string, submissionId: string, wire: unknown, readNo: number, readAtMs = START_MS): StateObservation {
  const view = readRequirements(wire)
  if (view === null) throw new Error(`not a requirements view: ${JSON.stringify(wire)}`)
  return { kind: 'state', read: 'requirements', account, submissionId, cause: 'poll', view, readNo, readAt: timeFromMs(readAtMs) }
}

export function trackFact(account: string, submissionId: string): Observation {
  return { kind: 'request', account, submissionId, cause: 'command', reads: [] }
}
