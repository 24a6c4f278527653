import type { TimeText } from '../../model/time.ts'
import type { AtDestination } from '../../store/reconcile/at-destinations.ts'
import type { MirrorFigures } from '../../store/reconcile/figures.ts'
import type { FindingKind, ReconcileRunsTable } from '../../store/schema/reconcile.ts'

/** A differing column. Personal values are masked, long values are cut. */
interface ShownDifference {
  readonly field: string
  readonly mirror: string
  readonly service: string
}

export interface ReportFinding {
  /** null: a change of a row without a submission. */
  readonly submissionId: string | null
  /** null: the name is unknown. */
  readonly insuredName: string | null
  readonly kind: FindingKind
  readonly entity: string | null
  /** The key without account and submission; null for the submission or one of its reads. */
  readonly record: string | null
  readonly differences: readonly ShownDifference[]
  readonly read: string | null
  /** Destination of an undelivered change. */
  readonly destination: string | null
  readonly repairedAt: TimeText | null
  readonly detail: string
}

/** Findings of one kind, either new or known. */
export interface FindingGroup {
  readonly kind: FindingKind
  readonly known: boolean
  readonly total: number
  /** Counts by table; `entity` null: no table. */
  readonly byEntity: readonly { readonly entity: string | null; readonly total: number; readonly repaired: number }[]
  /** The first findings, up to the limit. */
  readonly shown: readonly ReportFinding[]
}

/** Column widths, narrowest first. */
export const bucketUnits = ['second', 'minute', 'hour', 'day', 'week', 'month'] as const
export type BucketUnit = (typeof bucketUnits)[number]

/** How events and messages arrived, over time. */
export interface FirstSeen {
  readonly unit: BucketUnit
  /** Oldest first, without gaps. `at`: start in UTC. `counts`: by `first_seen_via`. */
  readonly buckets: readonly { readonly at: TimeText; readonly counts: Readonly<Record<string, number>> }[]
  /** Totals by `first_seen_via`. */
  readonly totals: readonly { readonly via: string; readonly events: number; readonly messages: number }[]
}

/** Everything in a report. Personal values are masked, except names of insureds. */
export interface ReportData {
  readonly run: ReconcileRunsTable
  readonly groups: readonly FindingGroup[]
  readonly firstSeen: FirstSeen
  readonly mirror: MirrorFigures
  readonly destinations: readonly AtDestination[]
  readonly madeAt: TimeText
  readonly version: string
}
