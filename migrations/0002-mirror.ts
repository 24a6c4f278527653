import { chipRank, marketKey, orderKeys } from '../src/store/schema/list-keys.ts'
import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'

/** Service data, one table for each entity of `src/model/entities`, and the indexes by which readers find it. */
export const mirror: Migration = {
  version: 2,
  name: 'mirror',
  oldestCompatible: 1,
  statements: (t) => [
    ...submissions(t),
    ...feeds(t),
    ...rail(t),
    ...readiness(t),
    ...workspace(t),
    ...binding(t),
    ...documents(t),
    ...searchAndCounts(t),
  ],
}

function submissions(t: ColumnTypes): string[] {
  return [
    `create table submissions (
      account ${t.id} not null, submission_id ${t.id} not null,
      insured_name text, lines ${t.json}, effective_date ${t.date}, state text, forms ${t.json},
      marketing_status text, marketing_hint text, form_fill_active ${t.bool},
      outstanding_form_fill_active ${t.bool}, outstanding_answerable_count ${t.int}, outstanding_markets_total ${t.int}, insured_id ${t.id},
      tracked_at ${t.time} not null, tracked_via text not null,
      last_event_at ${t.time}, last_message_at ${t.time}, last_activity_at ${t.time}, unreachable_since ${t.time},
      state_read_at ${t.time}, rail_read_at ${t.time}, quote_history_read_at ${t.time}, assessment_read_at ${t.time},
      rail_generated_at ${t.time}, assessment_generated_at ${t.time},
      raw ${t.raw}, outstanding_raw ${t.raw}, sessions_raw ${t.raw},
      primary key (account, submission_id))`,
    ...Object.entries(orderKeys(t)).map(
      ([name, key]) => `create index submissions_by_${name} on submissions (account, (${key}), submission_id)`,
    ),
    'create index submissions_marketing on submissions (account, marketing_status, submission_id)',
    'create index submissions_activity on submissions (last_activity_at)',
    'create index submissions_activity_of_account on submissions (account, last_activity_at)',
    'create index submissions_last_event on submissions (last_event_at)',
    'create index submissions_last_event_of_account on submissions (account, last_event_at)',
    // The last of those that begin with the account: of indexes that serve it equally SQLite takes that one.
    'create index submissions_unreachable on submissions (account, submission_id) where unreachable_since is not null',
    ...(t.kind === 'postgres' ? POSTGRES_ONLY : []),
  ]
}

/** To Postgres nulls are the greatest: `desc nulls last` is no order of the indexes above, whose order backwards is `desc`. */
const POSTGRES_ONLY = [
  'create index submissions_activity_nulls_last on submissions (last_activity_at desc nulls last)',
  'create index submissions_activity_of_account_nulls_last on submissions (account, last_activity_at desc nulls last)',
  'create index submissions_lines on submissions using gin (lines)',
]

function feeds(t: ColumnTypes): string[] {
  return [
    `create table market_events (
      account ${t.id} not null, submission_id ${t.id} not null, event_id ${t.id} not null,
      type text not null, occurred_at ${t.time} not null,
      market_name text, market_lines ${t.json}, lane_id ${t.id}, category text, status text, status_label text, detail text,
      first_seen_at ${t.time} not null, first_seen_via text not null, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, event_id))`,
    // With what `lane_board` asks of them, so that it reads no event.
    t.kind === 'sqlite'
      ? 'create index market_events_timeline on market_events (account, submission_id, occurred_at, event_id, lane_id, type, gone_at)'
      : 'create index market_events_timeline on market_events (account, submission_id, occurred_at, event_id) include (lane_id, type, gone_at)',
    'create index market_events_newest on market_events (account, occurred_at)',
    `create table thread_messages (
      account ${t.id} not null, submission_id ${t.id} not null, message_id ${t.id} not null,
      channel text not null, direction text not null, kind text not null, occurred_at ${t.time} not null,
      subject text, body_text text not null, from_address text, to_addresses ${t.json}, in_reply_to ${t.id},
      first_seen_at ${t.time} not null, first_seen_via text not null, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, message_id))`,
    'create index thread_messages_timeline on thread_messages (account, submission_id, occurred_at, message_id)',
    'create index thread_messages_newest on thread_messages (account, occurred_at)',
    `create table thread_attachments (
      account ${t.id} not null, submission_id ${t.id} not null, message_id ${t.id} not null, position ${t.int} not null,
      name text, download_path text, document_key ${t.id}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, message_id, position))`,
    'create index thread_attachments_document on thread_attachments (account, document_key)',
  ]
}

function rail(t: ColumnTypes): string[] {
  const lanes = { market: `(${marketKey(t)})`, status: 'status', chip: `(${chipRank(t)})` }
  return [
    `create table lanes (
      account ${t.id} not null, submission_id ${t.id} not null, lane_id ${t.id} not null,
      market_id ${t.id}, market_name text, program text, program_id ${t.id}, program_category text, lines ${t.json},
      status text, status_label text, submit_ready ${t.bool}, gapped ${t.bool}, unmet_labels ${t.json}, bound ${t.bool}, chip text,
      carrier_api_session_ids ${t.json}, next_step text,
      state_source text not null, state_event_id ${t.id}, state_occurred_at ${t.time}, gone_at ${t.time},
      raw ${t.raw},
      primary key (account, submission_id, lane_id))`,
    ...Object.entries(lanes).map(
      ([name, key]) => `create index lanes_by_${name} on lanes (account, ${key}, submission_id) where gone_at is null`,
    ),
    `create table quotes (
      account ${t.id} not null, submission_id ${t.id} not null, lane_id ${t.id} not null, quote_id ${t.id} not null,
      premium_display text, total_cents ${t.int}, lines ${t.json}, is_revision ${t.bool}, first_seen_at ${t.time} not null, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, lane_id, quote_id))`,
    `create table source_offers (
      account ${t.id} not null, submission_id ${t.id} not null, lane_id ${t.id} not null, presentation_id ${t.id} not null,
      kind text, label text, document_url text, filename text, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, lane_id, presentation_id))`,
    `create table quote_history (
      account ${t.id} not null, submission_id ${t.id} not null, history_key ${t.id} not null,
      market_name text, program text, outcome text, observed_at ${t.time}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, history_key))`,
  ]
}

function readiness(t: ColumnTypes): string[] {
  return [
    `create table market_readiness (
      account ${t.id} not null, submission_id ${t.id} not null, readiness_key ${t.id} not null,
      lane_id ${t.id}, market_name text, program text, program_category text, category_label text, ready ${t.bool},
      needs_from_you ${t.json}, hedge_obtains ${t.json}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, readiness_key))`,
    `create table carrier_api_sessions (
      account ${t.id} not null, submission_id ${t.id} not null, session_id ${t.id} not null,
      carrier_slug text, program text, status text, outcome text, completion_pct ${t.real}, missing_questions ${t.json}, has_quote ${t.bool},
      missing_required_questions ${t.json}, gone_at ${t.time},
      raw ${t.raw}, sessions_raw ${t.raw},
      primary key (account, submission_id, session_id))`,
    `create table documents_on_file (
      account ${t.id} not null, submission_id ${t.id} not null, item_key ${t.id} not null,
      kind text, kind_label text, display_name text, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, item_key))`,
    `create table program_assessments (
      account ${t.id} not null, submission_id ${t.id} not null, lane_id ${t.id} not null, program_key ${t.id} not null,
      market_name text, program_id ${t.id}, program_display_name text, channel text, program_category text, enforcement text,
      submit_ready ${t.bool}, evaluated_at ${t.time}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, lane_id, program_key))`,
    `create table requirement_items (
      account ${t.id} not null, submission_id ${t.id} not null, lane_id ${t.id} not null, program_key ${t.id} not null, item_key ${t.id} not null,
      result text, key ${t.id}, label text, severity text, resolution text, repr text, form_key ${t.id}, due_stage text,
      satisfied ${t.bool}, blocks_submission ${t.bool}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, lane_id, program_key, item_key))`,
    `create table outstanding_items (
      account ${t.id} not null, submission_id ${t.id} not null, item_key ${t.id} not null,
      key ${t.id}, label text, source text, input text, options ${t.json}, markets ${t.json}, how_to_provide text, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, item_key))`,
  ]
}

function workspace(t: ColumnTypes): string[] {
  return [
    `create table application_workspaces (
      account ${t.id} not null, submission_id ${t.id} not null,
      workspace_id ${t.id}, contract_version text, workflow_version text, fact_set_id ${t.id}, facts_revision ${t.int},
      residual_status text, residual_form_keys ${t.json}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id))`,
    `create table applications (
      account ${t.id} not null, submission_id ${t.id} not null, application_id ${t.id} not null,
      workspace_id ${t.id}, connection_id ${t.id}, provider_key ${t.id}, program_identifier text, owner_host text, owner_session_id ${t.id},
      route text, market_program_id ${t.id}, line_of_business text, schema_fingerprint text,
      answer_revision ${t.int}, fact_revision ${t.int}, selection_revision ${t.int},
      selected_products ${t.json}, available_products ${t.json}, mapping_state text, unresolved_dependencies ${t.json},
      missing ${t.json}, errors ${t.json}, visible_fields ${t.json}, readiness text, request_state text, request_id ${t.id},
      result ${t.json}, allowed_actions ${t.json}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, application_id))`,
    `create table application_answers (
      account ${t.id} not null, submission_id ${t.id} not null, application_id ${t.id} not null, question_key ${t.id} not null,
      value ${t.json}, ownership_kind text, ownership_revision ${t.int}, source_id ${t.id}, source_channel text, source_evidence text,
      gone_at ${t.time},
      primary key (account, submission_id, application_id, question_key))`,
    `create table facts (
      account ${t.id} not null, submission_id ${t.id} not null, fact_key ${t.id} not null,
      fact_set_id ${t.id}, key ${t.id}, scope text, period text,
      value ${t.json}, confirmed ${t.bool}, source_id ${t.id}, content_hash text, channel text, evidence text, snippet text,
      extractor_version text, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, fact_key))`,
  ]
}

function binding(t: ColumnTypes): string[] {
  return [
    `create table bind_requests (
      account ${t.id} not null, submission_id ${t.id} not null, bind_request_id ${t.id} not null,
      status text, status_label text, quote_id ${t.id}, payment_option text, requested_at ${t.time}, requested_by text,
      effective_date ${t.date}, policy_id ${t.id}, next_steps ${t.json}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, bind_request_id))`,
    'create index bind_requests_policy on bind_requests (account, policy_id) where policy_id is not null',
    'create index bind_requests_newest on bind_requests (requested_at desc, bind_request_id)',
    `create table bind_assumptions (
      account ${t.id} not null, submission_id ${t.id} not null, bind_request_id ${t.id} not null, key ${t.id} not null,
      label text, value ${t.json}, position ${t.int}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, bind_request_id, key))`,
    `create table bind_contingencies (
      account ${t.id} not null, submission_id ${t.id} not null, bind_request_id ${t.id} not null, contingency_id ${t.id} not null,
      kind text, label text, status text, required ${t.bool}, upload_path text, esign_status text, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, bind_request_id, contingency_id))`,
    `create table policies (
      account ${t.id} not null, policy_id ${t.id} not null, submission_id ${t.id},
      policy_number text, lines ${t.json}, carrier_name text, naic_code text, admitted ${t.bool}, effective_date ${t.date}, expiration_date ${t.date},
      net_premium_cents ${t.int}, fees_cents ${t.int}, taxes_cents ${t.int}, total_billed_cents ${t.int}, commission_rate ${t.real},
      commission_cents ${t.int}, payment_terms ${t.json}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, policy_id))`,
    'create index policies_submission on policies (account, submission_id, policy_id)',
    `create table insureds (
      account ${t.id} not null, insured_id ${t.id} not null, submission_id ${t.id},
      legal_name text, dba_name text, entity_type text, naics text, sic text, mailing_address ${t.json}, contacts ${t.json},
      gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, insured_id))`,
    'create index insureds_submission on insureds (account, submission_id, insured_id)',
  ]
}

function documents(t: ColumnTypes): string[] {
  return [
    `create table documents (
      account ${t.id} not null, document_key ${t.id} not null, submission_id ${t.id}, document_id ${t.id}, origin text, name text,
      source text, source_label text, content_type text, created_at ${t.time}, download_path text, document_url text, size_bytes ${t.int},
      sha256 ${t.id}, stored_bytes ${t.int}, stored_path ${t.id}, stored_at ${t.time}, error text, tried_at ${t.time}, gone_at ${t.time},
      primary key (account, document_key))`,
    'create index documents_submission on documents (account, submission_id, document_key)',
    'create index documents_stored on documents (stored_at desc, document_key)',
    'create index documents_path on documents (stored_path)',
    'create index documents_failed on documents (error) where error is not null',
    `create table extra_reads (
      account ${t.id} not null, submission_id ${t.id} not null, name ${t.id} not null, read_at ${t.time} not null, raw ${t.raw} not null,
      primary key (account, submission_id, name))`,
  ]
}

/** What follows from the tables above and is written with them: the list of submissions is searched by words and tells counts. */
function searchAndCounts(t: ColumnTypes): string[] {
  return [
    `create table sync_search_words (
      account ${t.id} not null, submission_id ${t.id} not null, word ${t.id} not null,
      primary key (account, submission_id, word))`,
    'create index sync_search_words_word on sync_search_words (account, word, submission_id)',
    `create table sync_record_counts (
      account ${t.id} not null, submission_id ${t.id} not null, events ${t.int} not null, messages ${t.int} not null,
      primary key (account, submission_id))`,
  ]
}
