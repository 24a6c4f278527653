import type { TimeText } from '../../model/time.ts'
import type { AtDestination } from '../../store/reconcile/at-destinations.ts'
import type { MirrorFigures } from '../../store/reconcile/figures.ts'
import type { FindingKind, ReconcileRunsTable } from '../../store/schema/reconcile.ts'

/** A column that differs. Personal values are masked, and long values are cut. */
interface ShownDifference {
  readonly field: string
  readonly mirror: string
  readonly service: string
}

export interface ReportFinding {
  /** Null if the finding belongs to no submission. */
  readonly submissionId: string | null
  /** Null if the name is unknown. */
  readonly insuredName: string | null
  readonly kind: FindingKind
  readonly entity: string | null
  /**
   * The record's key without account and submission. Null if the finding is about a whole submission, a read,
   * or no record.
   */
  readonly record: string | null
  readonly differences: readonly ShownDifference[]
  readonly read: string | null
  /** Destination of an undelivered change; null for other findings. */
  readonly destination: string | null
  readonly repairedAt: TimeText | null
  readonly detail: string
}

/** Findings of one kind: only new findings, or only known findings. */
export interface FindingGroup {
  readonly kind: FindingKind
  readonly known: boolean
  readonly total: number
  /** Counts by table; `entity` is null for findings without a table. */
  readonly byEntity: readonly { readonly entity: string | null; readonly total: number; readonly repaired: number }[]
  /** The first findings, up to a limit. */
  readonly shown: readonly ReportFinding[]
}

/** Time units of the chart's columns, shortest first. */
export const bucketUnits = ['second', 'minute', 'hour', 'day', 'week', 'month'] as const
export type BucketUnit = (typeof bucketUnits)[number]

/** When and how events and messages first arrived. */
export interface FirstSeen {
  readonly unit: BucketUnit
  /**
   * Columns of the chart, oldest first, without gaps. `at`: start of the column (UTC). `counts`:
   * records by `first_seen_via`.
   */
  readonly buckets: readonly { readonly at: TimeText; readonly counts: Readonly<Record<string, number>> }[]
  /** Totals by `first_seen_via`. */
  readonly totals: readonly { readonly via: string; readonly events: number; readonly messages: number }[]
}

/** All data of a report. Personal values are masked, except names of insureds. */
export interface ReportData {
  readonly run: ReconcileRunsTable
  readonly groups: readonly FindingGroup[]
  readonly firstSeen: FirstSeen
  readonly mirror: MirrorFigures
  readonly destinations: readonly AtDestination[]
  readonly madeAt: TimeText
  readonly version: string
}
