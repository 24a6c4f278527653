import type { TimeText } from '../../model/time.ts'
import type { AtDestination } from '../../store/reconcile/at-destinations.ts'
import type { MirrorFigures } from '../../store/reconcile/figures.ts'
import type { FindingKind, ReconcileRunsTable } from '../../store/schema/reconcile.ts'

/** A column in which mirror and service differ. Personal values are masked, long ones cut. */
export interface ShownDifference {
  readonly field: string
  readonly mirror: string
  readonly service: string
}

export interface ReportFinding {
  /** null: an undelivered change of a row without a submission. */
  readonly submissionId: string | null
  /** null: the mirror doesn't know the insured. */
  readonly insuredName: string | null
  readonly kind: FindingKind
  readonly entity: string | null
  /** The key after account and submission, as text; null for the submission itself or one of its reads. */
  readonly record: string | null
  readonly differences: readonly ShownDifference[]
  readonly read: string | null
  /** The destination of an undelivered change. */
  readonly destination: string | null
  readonly repairedAt: TimeText | null
  readonly detail: string
}

/** Findings of one kind: either all new ones, or all that were known before. */
export interface FindingGroup {
  readonly kind: FindingKind
  readonly standing: boolean
  readonly total: number
  /** Counts by table; `entity` null: findings about no table. */
  readonly byEntity: readonly { readonly entity: string | null; readonly total: number; readonly repaired: number }[]
  /** The first findings, up to the report's limit. */
  readonly shown: readonly ReportFinding[]
}

/** Widths of the chart's columns, narrowest first. */
export const bucketUnits = ['second', 'minute', 'hour', 'day', 'week', 'month'] as const
export type BucketUnit = (typeof bucketUnits)[number]

/** How events and messages reached the mirror, over time. */
export interface FirstSeen {
  readonly unit: BucketUnit
  /** Without gaps, oldest first; `at` is the start in UTC, `counts` is by `first_seen_via`. */
  readonly buckets: readonly { readonly at: TimeText; readonly counts: Readonly<Record<string, number>> }[]
  /** By `first_seen_via`: `webhook`, `poll`, `backfill`, `reconcile`, or whatever is stored. */
  readonly totals: readonly { readonly via: string; readonly events: number; readonly messages: number }[]
}

/** Everything that a report shows. Personal values are masked, except for the names of insureds. */
export interface ReportData {
  readonly run: ReconcileRunsTable
  readonly groups: readonly FindingGroup[]
  readonly firstSeen: FirstSeen
  readonly mirror: MirrorFigures
  readonly destinations: readonly AtDestination[]
  readonly madeAt: TimeText
  /** This program's version. */
  readonly version: string
}
