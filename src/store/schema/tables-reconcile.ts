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
 * `requested`: a working process takes it up. `running`: also when its process died; it is taken up where it stood. `budget`: its time
 * ended first. `failed`: it could not go on. `stopped`: somebody stopped it, or it was never begun (a time at which another ran).
 */
export type RunState = 'requested' | 'running' | 'done' | 'budget' | 'failed' | 'stopped'

/** What a run was asked to do; what is left out does not limit it. As JSON in `reconcile_runs.options`. */
export type RunOptions = {
  /** Only these submissions. */
  readonly submissions?: readonly string[]
  /** Only submissions in which something moved at or after this time. */
  readonly since?: TimeText
  /** Only submissions that are not dormant: something moved in the last 90 days. */
  readonly active_only?: boolean
  /** Nothing is repaired or marked; what was found is left. */
  readonly dry_run?: boolean
  /** The feeds only, without the state. */
  readonly no_state?: boolean
  /** Reads at once; the setting when left out. */
  readonly concurrency?: number
}

export interface ReconcileRunsTable {
  run_id: string
  account: string
  /** The time of the timetable that it is the run of; null for one that somebody asked for. */
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
  /** Findings by their kind, without the standing ones, which `known` counts. */
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

/** A column that differs: what the mirror held, and what the service says. */
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
  /** It was known before this run, and changes neither its counts nor its exit code. */
  standing: boolean
  repaired_at: TimeText | null
  /** A sentence for people. */
  detail: string
  found_at: TimeText
}

/** One row an account: who reconciles it now, until when at least. */
export interface ReconcileLeasesTable {
  account: string
  run_id: string | null
  lease_token: string | null
  lease_until: TimeText | null
  /** Since when the timetable holds for the account: times before are not made up. */
  since: TimeText
}

export interface ProofsTable {
  account: string
  submission_id: string
  /** The run that proved it; while none has, the last that came by. */
  run_id: string
  /** When a run last came by. */
  visited_at: TimeText
  /** When it was last found, or made, equal to what the service shows; null for never. */
  proved_at: TimeText | null
}
