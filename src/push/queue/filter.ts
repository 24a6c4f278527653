import type { DestinationConfig } from '../../config/config.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'

export type Wants = Pick<DestinationConfig, 'accounts' | 'entities' | 'operations' | 'eventTypes' | 'backfill' | 'maxAgeMs'>

export interface FilteredChange {
  readonly account: string
  readonly entity: string
  readonly operation: string
  readonly cause: string
  /** Whether the change is a row of a snapshot. `operations` and `backfill` don't apply to such rows. */
  readonly snapshot: boolean
  /** Type of a market event. Null for other records. */
  readonly eventType: string | null
  /**
   * When an event or message happened. For an attachment, the time of its message. Null for other records, which have
   * no age.
   */
  readonly occurredAt: TimeText | null
}

/** @returns whether a destination gets a change. `filter` isn't evaluated. A setting of null lets every change pass. */
export function wants(destination: Wants, change: FilteredChange, nowMs: number): boolean {
  if (!destination.accounts.includes(change.account)) return false
  if (!isListed(destination.entities, change.entity)) return false
  if (change.eventType !== null && !isListed(destination.eventTypes, change.eventType)) return false
  if (isTooOld(destination.maxAgeMs, change.occurredAt, nowMs)) return false
  if (change.snapshot) return true
  return isListed(destination.operations, change.operation) && (destination.backfill || change.cause !== 'backfill')
}

/** @returns whether a destination drops a change only because of its age, by this machine's clock. */
export function isOnlyTooOld(destination: Wants, change: FilteredChange, nowMs: number): boolean {
  return !wants(destination, change, nowMs) && wants({ ...destination, maxAgeMs: null }, change, nowMs)
}

function isListed(list: readonly string[] | null, value: string): boolean {
  return list === null || list.includes(value)
}

function isTooOld(maxAgeMs: number | null, occurredAt: TimeText | null, nowMs: number): boolean {
  return maxAgeMs !== null && occurredAt !== null && msFromTime(occurredAt) < nowMs - maxAgeMs
}
