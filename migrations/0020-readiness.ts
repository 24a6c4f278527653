import type { Migration } from '../src/store/schema/migration.ts'

/** Tables of what the requirements view tells beside the rail. The next read of each submission fills them. */
export const readiness: Migration = {
  version: 20,
  name: 'readiness',
  oldestCompatible: 1,
  statements: (t) => [
    `create table market_readiness (
      account text not null, submission_id text not null, readiness_key text not null,
      lane_id text, market_name text, program text, program_category text, category_label text, ready ${t.bool},
      needs_from_you ${t.json}, hedge_obtains ${t.json}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, readiness_key))`,
    `create table carrier_api_sessions (
      account text not null, submission_id text not null, session_id text not null,
      carrier_slug text, program text, status text, outcome text, completion_pct ${t.real}, missing_questions ${t.json}, has_quote ${t.bool},
      gone_at ${t.time},
      raw ${t.raw},
      primary key (account, submission_id, session_id))`,
    `create table documents_on_file (
      account text not null, submission_id text not null, item_key text not null,
      kind text, kind_label text, display_name text, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, item_key))`,
    `create table program_assessments (
      account text not null, submission_id text not null, lane_id text not null,
      market_name text, program_id text, program_display_name text, channel text, program_category text, enforcement text,
      submit_ready ${t.bool}, evaluated_at ${t.time}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, lane_id))`,
    `create table requirement_items (
      account text not null, submission_id text not null, lane_id text not null, item_key text not null,
      result text, key text, label text, severity text, resolution text, repr text, form_key text, due_stage text,
      satisfied ${t.bool}, blocks_submission ${t.bool}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, lane_id, item_key))`,
  ],
}
