import type { TimeText } from '../../model/time.ts'
import type { MirrorFigures } from '../../store/reconcile/figures.ts'
import type { FindingKind, ReconcileRunsTable } from '../../store/schema/tables-reconcile.ts'

/** A column in which mirror and service differ. Both values as they may be shown: personal ones masked, long ones cut. */
export interface ShownDifference {
  readonly field: string
  readonly mirror: string
  readonly service: string
}

export interface ReportFinding {
  /** null: of a push of a row that belongs to no submission. */
  readonly submissionId: string | null
  readonly kind: FindingKind
  readonly entity: string | null
  /** The key below account and submission, as text; null when the finding is about the submission itself or one of its reads. */
  readonly record: string | null
  readonly differences: readonly ShownDifference[]
  readonly read: string | null
  /** Of a push: where it should go. */
  readonly destination: string | null
  readonly repairedAt: TimeText | null
  /** A sentence. */
  readonly detail: string
}

/** Findings of one kind: all that are new, or all that stand and were known before. */
export interface FindingGroup {
  readonly kind: FindingKind
  readonly standing: boolean
  readonly total: number
  /** How many there are in each table; null of what is about no table. */
  readonly byEntity: readonly { readonly entity: string | null; readonly total: number; readonly repaired: number }[]
  /** The first ones; `total` says how many more there are. */
  readonly shown: readonly ReportFinding[]
}

/** Widths of the chart's columns, the narrowest first. */
export const bucketUnits = ['second', 'minute', 'hour', 'day', 'week', 'month'] as const
export type BucketUnit = (typeof bucketUnits)[number]

/** How events and messages became known to the mirror, over time. */
export interface FirstSeen {
  readonly unit: BucketUnit
  /** Without gaps, oldest first; `at` is the beginning, UTC. */
  readonly buckets: readonly { readonly at: TimeText; readonly counts: Readonly<Record<string, number>> }[]
  /** Events and messages by the way they were first seen (`webhook`, `poll`, `backfill`, `reconcile`, or what else is stored). */
  readonly totals: readonly { readonly via: string; readonly events: number; readonly messages: number }[]
}

/** All that a report tells, the same for every format. Nothing personal is in it. */
export interface ReportData {
  readonly run: ReconcileRunsTable
  readonly groups: readonly FindingGroup[]
  readonly firstSeen: FirstSeen
  readonly mirror: MirrorFigures
  /** When the report was made. */
  readonly madeAt: TimeText
  /** Of this program. */
  readonly version: string
}
