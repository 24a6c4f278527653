import type { Migration } from '../src/store/schema/migration.ts'

/**
 * What has an id of its own: bind requests, policies, insureds, and the ids by which they are read. An existing mirror learns the ids from its
 * next reads.
 */
export const knownIds: Migration = {
  version: 26,
  name: 'known-ids',
  oldestCompatible: 1,
  statements: (t) =>
    [
      `create table sync_known_ids (
      account text not null, kind text not null, id text not null, submission_id text not null, via text not null,
      first_seen_at ${t.time} not null, last_read_at ${t.time}, last_changed_at ${t.time}, error text, due_at ${t.time},
      wake_no ${t.int} not null, issued_no ${t.int} not null, applied_no ${t.int} not null, failures ${t.int} not null,
      misses ${t.int} not null, rests ${t.int} not null, lease_token text,
      primary key (account, kind, id))`,
      'create index sync_known_ids_due on sync_known_ids (account, due_at)',
      'create index sync_known_ids_submission on sync_known_ids (account, submission_id, kind)',
      'create index sync_known_ids_leased on sync_known_ids (lease_token) where lease_token is not null',
      `create view known_ids as
      select account, kind, id, nullif(submission_id, '') as submission_id, via, first_seen_at, last_read_at, error from sync_known_ids`,
      `create table bind_requests (
      account text not null, submission_id text not null, bind_request_id text not null,
      status text, status_label text, quote_id text, payment_option text, requested_at ${t.time}, requested_by text, effective_date ${t.date},
      policy_id text, next_steps ${t.json}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, bind_request_id))`,
      `create table bind_assumptions (
      account text not null, submission_id text not null, bind_request_id text not null, key text not null,
      label text, value ${t.json}, position ${t.int}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, bind_request_id, key))`,
      `create table bind_contingencies (
      account text not null, submission_id text not null, bind_request_id text not null, contingency_id text not null,
      kind text, label text, status text, required ${t.bool}, upload_path text, esign_status text, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, bind_request_id, contingency_id))`,
      `create table policies (
      account text not null, policy_id text not null, submission_id text not null, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, policy_id))`,
      'create index policies_submission on policies (account, submission_id)',
      `create table insureds (
      account text not null, insured_id text not null, submission_id text not null, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, insured_id))`,
      'create index insureds_submission on insureds (account, submission_id)',
      'alter table submissions add column insured_id text',
      t.kind === 'sqlite' ? 'drop view freshness' : '',
      `create ${t.kind === 'sqlite' ? '' : 'or replace '}view freshness as
      select account, submission_id, read, last_read_at, last_changed_at, last_replay_at from sync_reads
      union all
      select account, submission_id, kind as read,
        cast(case when count(*) = count(last_read_at) then min(last_read_at) end as ${t.time}) as last_read_at,
        cast(max(last_changed_at) as ${t.time}) as last_changed_at, cast(null as ${t.time}) as last_replay_at
      from sync_known_ids where submission_id <> '' and due_at is not null group by account, submission_id, kind`,
    ].filter((statement) => statement !== ''),
}
