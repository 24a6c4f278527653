import { marketKey, orderKeys } from '../src/store/schema/list-keys.ts'
import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'
import { checkedColumns } from './checked.ts'

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
  const c = checkedColumns(t)
  return [
    `create table submissions (
      ${c.id('account')} not null, ${c.id('submission_id')} not null,
      ${c.text('insured_name')}, ${c.json('lines')}, ${c.date('effective_date')}, ${c.text('state')}, ${c.json('forms')},
      ${c.text('marketing_status')}, ${c.text('marketing_hint')}, ${c.bool('form_fill_active')},
      ${c.bool('outstanding_form_fill_active')}, ${c.int('outstanding_answerable_count')}, ${c.int('outstanding_markets_total')},
      ${c.id('insured_id')},
      ${c.time('tracked_at')} not null, ${c.text('tracked_via')} not null,
      ${c.time('last_event_at')}, ${c.time('last_message_at')}, ${c.time('last_activity_at')}, ${c.time('unreachable_since')}, ${c.text('stage')} not null default 'unknown',
      ${c.time('state_read_at')}, ${c.time('rail_read_at')}, ${c.time('quote_history_read_at')}, ${c.time('assessment_read_at')},
      ${c.time('rail_generated_at')}, ${c.time('assessment_generated_at')},
      ${c.raw('raw')}, ${c.raw('outstanding_raw')}, ${c.raw('sessions_raw')},
      primary key (account, submission_id))`,
    ...Object.entries(orderKeys(t)).map(
      ([name, key]) => `create index submissions_by_${name} on submissions (account, (${key}), submission_id)`,
    ),
    `create index submissions_by_stage on submissions (account, stage, (${orderKeys(t).moved}), submission_id)`,
    'create index submissions_activity on submissions (last_activity_at)',
    'create index submissions_activity_of_account on submissions (account, last_activity_at)',
    'create index submissions_last_event on submissions (last_event_at)',
    'create index submissions_last_event_of_account on submissions (account, last_event_at)',
    // Created last: among equal indexes SQLite uses the last one that begins with the account.
    'create index submissions_unreachable on submissions (account, submission_id) where unreachable_since is not null',
    ...(t.kind === 'postgres' ? POSTGRES_ONLY : []),
  ]
}

/** Postgres sorts nulls last in ascending order, so `desc nulls last` doesn't match a backward scan of the indexes above. */
const POSTGRES_ONLY = [
  'create index submissions_activity_nulls_last on submissions (last_activity_at desc nulls last)',
  'create index submissions_activity_of_account_nulls_last on submissions (account, last_activity_at desc nulls last)',
  'create index submissions_lines on submissions using gin (lines)',
]

function feeds(t: ColumnTypes): string[] {
  const c = checkedColumns(t)
  return [
    `create table market_events (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('event_id')} not null,
      ${c.text('type')} not null, ${c.time('occurred_at')} not null,
      ${c.text('market_name')}, ${c.json('market_lines')}, ${c.id('lane_id')}, ${c.text('category')}, ${c.text('status')},
      ${c.text('status_label')}, ${c.text('detail')},
      ${c.time('first_seen_at')} not null, ${c.text('first_seen_via')} not null, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, event_id))`,
    'create index market_events_timeline on market_events (account, submission_id, occurred_at, event_id)',
    // Contains all that `lane_board` reads, so that it reads no event.
    `create index market_events_lane on market_events (account, submission_id, lane_id, type, occurred_at)
      where gone_at is null and lane_id is not null`,
    'create index market_events_newest on market_events (account, occurred_at)',
    `create table thread_messages (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('message_id')} not null,
      ${c.text('channel')} not null, ${c.text('direction')} not null, ${c.text('kind')} not null, ${c.time('occurred_at')} not null,
      ${c.text('subject')}, ${c.text('body_text')} not null, ${c.text('from_address')}, ${c.json('to_addresses')}, ${c.id('in_reply_to')},
      ${c.time('first_seen_at')} not null, ${c.text('first_seen_via')} not null, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, message_id))`,
    'create index thread_messages_timeline on thread_messages (account, submission_id, occurred_at, message_id)',
    'create index thread_messages_newest on thread_messages (account, occurred_at)',
    `create table thread_attachments (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('message_id')} not null, ${c.int('position')} not null,
      ${c.text('name')}, ${c.text('download_path')}, ${c.id('document_key')}, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, message_id, position))`,
    'create index thread_attachments_document on thread_attachments (account, document_key)',
  ]
}

function rail(t: ColumnTypes): string[] {
  const c = checkedColumns(t)
  const lanes = { market: `(${marketKey(t)})`, status: 'status' }
  return [
    `create table lanes (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('lane_id')} not null,
      ${c.id('market_id')}, ${c.text('market_name')}, ${c.text('program')}, ${c.id('program_id')}, ${c.text('program_category')},
      ${c.json('lines')},
      ${c.text('status')}, ${c.text('status_label')}, ${c.bool('submit_ready')}, ${c.bool('gapped')}, ${c.json('unmet_labels')},
      ${c.bool('bound')}, ${c.text('chip')},
      ${c.json('carrier_api_session_ids')}, ${c.text('next_step')},
      ${c.text('state_source')} not null, ${c.id('state_event_id')}, ${c.time('state_occurred_at')}, ${c.time('gone_at')},
      ${c.raw('raw')},
      primary key (account, submission_id, lane_id))`,
    ...Object.entries(lanes).map(
      ([name, key]) => `create index lanes_by_${name} on lanes (account, ${key}, submission_id) where gone_at is null`,
    ),
    `create table quotes (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('lane_id')} not null, ${c.id('quote_id')} not null,
      ${c.text('premium_display')}, ${c.int('total_cents')}, ${c.json('lines')}, ${c.bool('is_revision')},
      ${c.time('first_seen_at')} not null, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, lane_id, quote_id))`,
    `create table source_offers (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('lane_id')} not null, ${c.id('presentation_id')} not null,
      ${c.text('kind')}, ${c.text('label')}, ${c.text('document_url')}, ${c.text('filename')}, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, lane_id, presentation_id))`,
    `create table quote_history (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('history_key')} not null,
      ${c.text('market_name')}, ${c.text('program')}, ${c.text('outcome')}, ${c.time('observed_at')}, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, history_key))`,
  ]
}

function readiness(t: ColumnTypes): string[] {
  const c = checkedColumns(t)
  return [
    `create table market_readiness (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('readiness_key')} not null,
      ${c.id('lane_id')}, ${c.text('market_name')}, ${c.text('program')}, ${c.text('program_category')}, ${c.text('category_label')},
      ${c.bool('ready')},
      ${c.json('needs_from_you')}, ${c.json('hedge_obtains')}, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, readiness_key))`,
    `create table carrier_api_sessions (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('session_id')} not null,
      ${c.text('carrier_slug')}, ${c.text('program')}, ${c.text('status')}, ${c.text('outcome')}, ${c.real('completion_pct')},
      ${c.json('missing_questions')}, ${c.bool('has_quote')},
      ${c.json('missing_required_questions')}, ${c.time('gone_at')},
      ${c.raw('raw')}, ${c.raw('sessions_raw')},
      primary key (account, submission_id, session_id))`,
    `create table documents_on_file (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('item_key')} not null,
      ${c.text('kind')}, ${c.text('kind_label')}, ${c.text('display_name')}, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, item_key))`,
    `create table program_assessments (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('lane_id')} not null, ${c.id('program_key')} not null,
      ${c.text('market_name')}, ${c.id('program_id')}, ${c.text('program_display_name')}, ${c.text('channel')},
      ${c.text('program_category')}, ${c.text('enforcement')},
      ${c.bool('submit_ready')}, ${c.time('evaluated_at')}, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, lane_id, program_key))`,
    `create table requirement_items (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('lane_id')} not null, ${c.id('program_key')} not null,
      ${c.id('item_key')} not null,
      ${c.text('result')}, ${c.id('key')}, ${c.text('label')}, ${c.text('severity')}, ${c.text('resolution')}, ${c.text('repr')},
      ${c.id('form_key')}, ${c.text('due_stage')},
      ${c.bool('satisfied')}, ${c.bool('blocks_submission')}, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, lane_id, program_key, item_key))`,
    `create table outstanding_items (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('item_key')} not null,
      ${c.id('key')}, ${c.text('label')}, ${c.text('source')}, ${c.text('input')}, ${c.json('options')}, ${c.json('markets')},
      ${c.text('how_to_provide')}, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, item_key))`,
  ]
}

function workspace(t: ColumnTypes): string[] {
  const c = checkedColumns(t)
  return [
    `create table application_workspaces (
      ${c.id('account')} not null, ${c.id('submission_id')} not null,
      ${c.id('workspace_id')}, ${c.text('contract_version')}, ${c.text('workflow_version')}, ${c.id('fact_set_id')},
      ${c.int('facts_revision')},
      ${c.text('residual_status')}, ${c.json('residual_form_keys')}, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id))`,
    `create table applications (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('application_id')} not null,
      ${c.id('workspace_id')}, ${c.id('connection_id')}, ${c.id('provider_key')}, ${c.text('program_identifier')},
      ${c.text('owner_host')}, ${c.id('owner_session_id')},
      ${c.text('route')}, ${c.id('market_program_id')}, ${c.text('line_of_business')}, ${c.text('schema_fingerprint')},
      ${c.int('answer_revision')}, ${c.int('fact_revision')}, ${c.int('selection_revision')},
      ${c.json('selected_products')}, ${c.json('available_products')}, ${c.text('mapping_state')}, ${c.json('unresolved_dependencies')},
      ${c.json('missing')}, ${c.json('errors')}, ${c.json('visible_fields')}, ${c.text('readiness')}, ${c.text('request_state')},
      ${c.id('request_id')},
      ${c.json('result')}, ${c.json('allowed_actions')}, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, application_id))`,
    `create table application_answers (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('application_id')} not null, ${c.id('question_key')} not null,
      ${c.json('value')}, ${c.text('ownership_kind')}, ${c.int('ownership_revision')}, ${c.id('source_id')}, ${c.text('source_channel')},
      ${c.text('source_evidence')},
      ${c.time('gone_at')},
      primary key (account, submission_id, application_id, question_key))`,
    `create table facts (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('fact_key')} not null,
      ${c.id('fact_set_id')}, ${c.id('key')}, ${c.text('scope')}, ${c.text('period')},
      ${c.json('value')}, ${c.bool('confirmed')}, ${c.id('source_id')}, ${c.text('content_hash')}, ${c.text('channel')},
      ${c.text('evidence')}, ${c.text('snippet')},
      ${c.text('extractor_version')}, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, fact_key))`,
  ]
}

function binding(t: ColumnTypes): string[] {
  const c = checkedColumns(t)
  return [
    `create table bind_requests (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('bind_request_id')} not null,
      ${c.text('status')}, ${c.text('status_label')}, ${c.id('quote_id')}, ${c.text('payment_option')}, ${c.time('requested_at')},
      ${c.text('requested_by')},
      ${c.date('effective_date')}, ${c.id('policy_id')}, ${c.json('next_steps')}, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, bind_request_id))`,
    'create index bind_requests_policy on bind_requests (account, policy_id) where policy_id is not null',
    'create index bind_requests_newest on bind_requests (requested_at desc, bind_request_id)',
    `create table bind_assumptions (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('bind_request_id')} not null, ${c.id('key')} not null,
      ${c.text('label')}, ${c.json('value')}, ${c.int('position')}, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, bind_request_id, key))`,
    `create table bind_contingencies (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('bind_request_id')} not null,
      ${c.id('contingency_id')} not null,
      ${c.text('kind')}, ${c.text('label')}, ${c.text('status')}, ${c.bool('required')}, ${c.text('upload_path')},
      ${c.text('esign_status')}, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, submission_id, bind_request_id, contingency_id))`,
    `create table policies (
      ${c.id('account')} not null, ${c.id('policy_id')} not null, ${c.id('submission_id')},
      ${c.text('policy_number')}, ${c.json('lines')}, ${c.text('carrier_name')}, ${c.text('naic_code')}, ${c.bool('admitted')},
      ${c.date('effective_date')}, ${c.date('expiration_date')},
      ${c.int('net_premium_cents')}, ${c.int('fees_cents')}, ${c.int('taxes_cents')}, ${c.int('total_billed_cents')},
      ${c.real('commission_rate')},
      ${c.int('commission_cents')}, ${c.json('payment_terms')}, ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, policy_id))`,
    'create index policies_submission on policies (account, submission_id, policy_id)',
    `create table insureds (
      ${c.id('account')} not null, ${c.id('insured_id')} not null, ${c.id('submission_id')},
      ${c.text('legal_name')}, ${c.text('dba_name')}, ${c.text('entity_type')}, ${c.text('naics')}, ${c.text('sic')},
      ${c.json('mailing_address')}, ${c.json('contacts')},
      ${c.time('gone_at')},
      ${c.raw('raw')} not null,
      primary key (account, insured_id))`,
    'create index insureds_submission on insureds (account, submission_id, insured_id)',
  ]
}

function documents(t: ColumnTypes): string[] {
  const c = checkedColumns(t)
  return [
    `create table documents (
      ${c.id('account')} not null, ${c.id('document_key')} not null, ${c.id('submission_id')}, ${c.id('document_id')},
      ${c.text('origin')}, ${c.text('name')},
      ${c.text('source')}, ${c.text('source_label')}, ${c.text('content_type')}, ${c.time('created_at')}, ${c.text('download_path')},
      ${c.text('document_url')}, ${c.int('size_bytes')},
      ${c.id('sha256')}, ${c.int('stored_bytes')}, ${c.id('stored_path')}, ${c.time('stored_at')}, ${c.text('error')},
      ${c.time('tried_at')}, ${c.time('gone_at')},
      primary key (account, document_key))`,
    'create index documents_submission on documents (account, submission_id, document_key)',
    'create index documents_stored on documents (stored_at desc, document_key)',
    'create index documents_path on documents (stored_path)',
    'create index documents_key on documents (document_key, account)',
    'create index documents_unstored on documents (document_key, account) where stored_at is null',
    `create table extra_reads (
      ${c.id('account')} not null, ${c.id('submission_id')} not null, ${c.id('name')} not null, ${c.time('read_at')} not null,
      ${c.raw('raw')} not null,
      primary key (account, submission_id, name))`,
  ]
}

/** Derived data, written together with the tables above: search words and counts of submissions. */
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
