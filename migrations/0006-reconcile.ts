import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'

/** The report of every reconcile run, and when each submission was reconciled. */
export const reconcile: Migration = {
  version: 6,
  name: 'reconcile',
  oldestCompatible: 1,
  statements: (t) => [...publicTables(t), ...internalTables(t)],
}

function publicTables(t: ColumnTypes): string[] {
  return [
    `create table reconcile_runs (
      run_id ${t.id} not null primary key,
      account ${t.id} not null, slot ${t.time}, requested_by text not null, options ${t.json} not null,
      state text not null, requested_at ${t.time} not null, started_at ${t.time}, updated_at ${t.time} not null, ended_at ${t.time},
      submissions_total ${t.int} not null, submissions_done ${t.int} not null, rows_compared ${t.int} not null,
      missing ${t.int} not null, different ${t.int} not null, absent ${t.int} not null, unreadable ${t.int} not null,
      undelivered ${t.int} not null, repaired ${t.int} not null, known ${t.int} not null, lost ${t.int} not null,
      moved ${t.int} not null, exit_code ${t.int}, note text)`,
    // One run for each account and scheduled time, with any number of processes.
    'create unique index reconcile_runs_slot on reconcile_runs (account, slot)',
    'create index reconcile_runs_newest on reconcile_runs (account, requested_at)',
    "create index reconcile_runs_open on reconcile_runs (account, requested_at) where state in ('requested', 'running')",
    `create table reconcile_findings (
      run_id ${t.id} not null, finding_no ${t.int} not null,
      account ${t.id} not null, submission_id ${t.id}, kind ${t.id} not null, entity ${t.id}, entity_id ${t.id}, fields ${t.json}, read ${t.id},
      destination ${t.id}, seq ${t.int}, known ${t.bool} not null, repaired_at ${t.time}, detail text not null, found_at ${t.time} not null,
      primary key (run_id, finding_no))`,
    // A resumed run meets some findings twice and reports them once.
    `create unique index reconcile_findings_once on reconcile_findings
      (run_id, kind, coalesce(submission_id, ''), coalesce(entity, ''), coalesce(entity_id, ''), coalesce(read, ''),
        coalesce(destination, ''), coalesce(seq, 0))`,
    'create index reconcile_findings_submission on reconcile_findings (account, submission_id)',
    "create index reconcile_findings_push on reconcile_findings (destination, seq) where kind = 'undelivered'",
    // A later run sees by this index that a gap was already reported.
    "create index reconcile_findings_lost on reconcile_findings (seq) where kind = 'lost'",
  ]
}

function internalTables(t: ColumnTypes): string[] {
  return [
    `create table sync_reconcile (
      account ${t.id} not null primary key,
      run_id ${t.id}, lease_token ${t.id}, lease_until ${t.time}, since ${t.time} not null)`,
    `create table sync_reconciled (
      account ${t.id} not null, submission_id ${t.id} not null, run_id ${t.id} not null, visited_at ${t.time} not null, reconciled_at ${t.time},
      unconfirmed text,
      primary key (account, submission_id))`,
    'create index sync_reconciled_oldest on sync_reconciled (account, reconciled_at, submission_id)',
  ]
}
