import type { Migration } from '../src/store/schema/migration.ts'

/**
 * Three reads beside the requirements view, and their tables. Every known submission gets its reads, of the rank that comes behind all else, so
 * that an existing mirror fills them by itself.
 */
export const stateReads: Migration = {
  version: 25,
  name: 'state-reads',
  oldestCompatible: 1,
  statements: (t) => [
    `create table outstanding_items (
      account text not null, submission_id text not null, item_key text not null,
      key text, label text, source text, input text, options ${t.json}, markets ${t.json}, how_to_provide text, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, item_key))`,
    `create table application_workspaces (
      account text not null, submission_id text not null,
      workspace_id text, contract_version text, workflow_version text, fact_set_id text, facts_revision ${t.int},
      residual_status text, residual_form_keys ${t.json}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id))`,
    `create table applications (
      account text not null, submission_id text not null, application_id text not null,
      workspace_id text, connection_id text, provider_key text, program_identifier text, owner_host text, owner_session_id text, route text,
      market_program_id text, line_of_business text, schema_fingerprint text,
      answer_revision ${t.int}, fact_revision ${t.int}, selection_revision ${t.int},
      selected_products ${t.json}, available_products ${t.json}, mapping_state text, unresolved_dependencies ${t.json},
      missing ${t.json}, errors ${t.json}, visible_fields ${t.json}, readiness text, request_state text, request_id text,
      result ${t.json}, allowed_actions ${t.json}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, application_id))`,
    `create table application_answers (
      account text not null, submission_id text not null, application_id text not null, question_key text not null,
      value ${t.json}, ownership_kind text, ownership_revision ${t.int}, source_id text, source_channel text, source_evidence text,
      gone_at ${t.time},
      primary key (account, submission_id, application_id, question_key))`,
    `create table facts (
      account text not null, submission_id text not null, fact_set_id text not null, key text not null, scope text not null,
      period text not null,
      value ${t.json}, confirmed ${t.bool}, source_id text, content_hash text, channel text, evidence text, snippet text,
      extractor_version text, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, fact_set_id, key, scope, period))`,
    `alter table submissions add column outstanding_answerable_count ${t.int}`,
    `alter table submissions add column outstanding_markets_total ${t.int}`,
    `alter table carrier_api_sessions add column missing_required_questions ${t.json}`,
    `alter table carrier_api_sessions add column sessions_raw ${t.raw}`,
    ...['outstanding', 'workspace', 'sessions'].map(
      (
        read,
      ) => `insert into sync_reads (account, submission_id, read, rank, due_at, wake_no, cursor_no, issued_no, applied_no, active_at, failures,
        misses, stalls)
      select account, submission_id, '${read}', 3, due_at, 0, 0, 0, 0, active_at, 0, 0, 0 from sync_reads where read = 'requirements'`,
    ),
  ],
}
