import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'

/** The report of every reconcile run, the proof of each submission, and the mark of what a replay no longer shows. */
export const reconcile: Migration = {
  version: 4,
  name: 'reconcile',
  oldestCompatible: 1,
  statements: (t) => [...marks(t), ...publicTables(t), ...internalTables(t)],
}

/** Nothing is deleted because it is absent (invariant 7): records of the feeds are marked as rows of the state always were. */
function marks(t: ColumnTypes): string[] {
  return ['market_events', 'thread_messages', 'thread_attachments'].map((table) => `alter table ${table} add column gone_at ${t.time}`)
}

function publicTables(t: ColumnTypes): string[] {
  return [
    `create table reconcile_runs (
      run_id text not null primary key,
      account text not null, slot ${t.time}, requested_by text not null, options ${t.json} not null,
      state text not null, requested_at ${t.time} not null, started_at ${t.time}, updated_at ${t.time} not null, ended_at ${t.time},
      submissions_total ${t.int} not null, submissions_done ${t.int} not null, rows_compared ${t.int} not null,
      missing ${t.int} not null, different ${t.int} not null, absent ${t.int} not null, unreadable ${t.int} not null,
      undelivered ${t.int} not null, repaired ${t.int} not null, known ${t.int} not null,
      exit_code ${t.int}, note text)`,
    // However many processes: one run for each account and time of the timetable.
    'create unique index reconcile_runs_slot on reconcile_runs (account, slot)',
    'create index reconcile_runs_newest on reconcile_runs (account, requested_at)',
    "create index reconcile_runs_open on reconcile_runs (account, requested_at) where state in ('requested', 'running')",
    `create table reconcile_findings (
      run_id text not null, finding_no ${t.int} not null,
      account text not null, submission_id text, kind text not null, entity text, entity_id text, fields ${t.json}, read text,
      destination text, seq ${t.int}, standing ${t.bool} not null, repaired_at ${t.time}, detail text not null, found_at ${t.time} not null,
      primary key (run_id, finding_no))`,
    // A run that is taken up again after its process was killed meets some things twice, and reports them once.
    `create unique index reconcile_findings_once on reconcile_findings
      (run_id, kind, coalesce(submission_id, ''), coalesce(entity, ''), coalesce(entity_id, ''), coalesce(read, ''),
        coalesce(destination, ''), coalesce(seq, 0))`,
    'create index reconcile_findings_submission on reconcile_findings (account, submission_id)',
    "create index reconcile_findings_push on reconcile_findings (destination, seq) where kind = 'undelivered'",
  ]
}

function internalTables(t: ColumnTypes): string[] {
  return [
    `create table sync_reconcile (
      account text not null primary key,
      run_id text, lease_token text, lease_until ${t.time}, since ${t.time} not null)`,
    `create table sync_proofs (
      account text not null, submission_id text not null, run_id text not null, visited_at ${t.time} not null, proved_at ${t.time},
      primary key (account, submission_id))`,
    'create index sync_proofs_oldest on sync_proofs (account, proved_at, submission_id)',
  ]
}
