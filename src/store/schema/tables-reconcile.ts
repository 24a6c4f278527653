import type { Json } from '../../model/json.ts'
import type { ReadKind } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'

/** The tables of reconciliation, for kysely. What each holds is told in migrations/README.md. */
export interface ReconcileTables {
  reconcile_runs: ReconcileRunsTable
  reconcile_findings: ReconcileFindingsTable
  sync_reconcile: ReconcileLeasesTable
  sync_proofs: ProofsTable
}

/**
 * `requested`: waits for a process. `running`: in progress, or its process died and it will be resumed. `budget`: its time ended first.
 * `failed`: it could not go on. `stopped`: somebody stopped it, or it never began because another ran at its time.
 */
export type RunState = 'requested' | 'running' | 'done' | 'budget' | 'failed' | 'stopped'

/** Options of a run; those left out do not limit it. JSON in `reconcile_runs.options`. */
export type RunOptions = {
  /** Only these submissions. */
  readonly submissions?: readonly string[]
  /** Only submissions in which something moved at or after this time. */
  readonly since?: TimeText
  /** Only submissions that are not dormant: something moved in the last 90 days. */
  readonly active_only?: boolean
  /** Repairs and marks nothing. */
  readonly dry_run?: boolean
  /** Only the feeds, without the state. */
  readonly no_state?: boolean
  /** Concurrent reads; the setting when left out. */
  readonly concurrency?: number
}

export interface ReconcileRunsTable {
  run_id: string
  account: string
  /** The scheduled time that it is for; null for a requested run. */
  slot: TimeText | null
  /** `command`, `cron`, `admin:<name of the token>`. */
  requested_by: string
  options: RunOptions
  state: RunState
  requested_at: TimeText
  started_at: TimeText | null
  updated_at: TimeText
  ended_at: TimeText | null
  submissions_total: number
  submissions_done: number
  rows_compared: number
  /** Findings by kind, without standing ones, which `known` counts. */
  missing: number
  different: number
  absent: number
  unreadable: number
  undelivered: number
  lost: number
  repaired: number
  known: number
  exit_code: number | null
  note: string | null
}

export const findingKinds = ['missing', 'different', 'absent', 'unreadable', 'undelivered', 'lost'] as const
export type FindingKind = (typeof findingKinds)[number]

/** A differing column: the mirror's value and the service's. */
export type FieldDifference = { readonly field: string; readonly mirror: Json; readonly service: Json }

export interface ReconcileFindingsTable {
  run_id: string
  finding_no: number
  account: string
  submission_id: string | null
  kind: FindingKind
  /** As in `changes`. */
  entity: string | null
  entity_id: string | null
  fields: readonly FieldDifference[] | null
  read: ReadKind | null
  destination: string | null
  seq: number | null
  /** It was known before this run, and affects neither its counts nor its exit code. */
  standing: boolean
  repaired_at: TimeText | null
  /** A sentence for people. */
  detail: string
  found_at: TimeText
}

/** One row per account: which run holds it, and at least until when. */
export interface ReconcileLeasesTable {
  account: string
  run_id: string | null
  lease_token: string | null
  lease_until: TimeText | null
  /** Since when the schedule holds for the account. Earlier times are not made up for. */
  since: TimeText
}

export interface ProofsTable {
  account: string
  submission_id: string
  /** The run that proved it; if none has, the last that visited it. */
  run_id: string
  /** When a run last visited it. */
  visited_at: TimeText
  /** When it was last equal to what the service shows, or was repaired; null for never. */
  proved_at: TimeText | null
}
