import type { DestinationConfig } from '../../config/config.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'

/** Which changes a destination gets. */
export type Wants = Pick<DestinationConfig, 'accounts' | 'entities' | 'operations' | 'eventTypes' | 'backfill' | 'maxAgeMs'>

/** What of a change decides who gets it. */
export interface Considered {
  readonly account: string
  readonly entity: string
  readonly operation: string
  readonly cause: string
  /** A row of a snapshot: all of them are inserts, and old by nature. */
  readonly snapshot: boolean
  /** Of a market event, its type; else null. */
  readonly eventType: string | null
  /** Of a new event or message, or what hangs on one, when it happened; null for everything else, which has no age. */
  readonly occurredAt: TimeText | null
}

/** Whether a destination gets a change. A filter that is null lets everything pass. */
export function wants(destination: Wants, change: Considered, nowMs: number): boolean {
  if (!destination.accounts.includes(change.account)) return false
  if (!isListed(destination.entities, change.entity)) return false
  if (change.eventType !== null && !isListed(destination.eventTypes, change.eventType)) return false
  if (isTooOld(destination.maxAgeMs, change.occurredAt, nowMs)) return false
  if (change.snapshot) return true
  return isListed(destination.operations, change.operation) && (destination.backfill || change.cause !== 'backfill')
}

function isListed(list: readonly string[] | null, value: string): boolean {
  return list === null || list.includes(value)
}

function isTooOld(maxAgeMs: number | null, occurredAt: TimeText | null, nowMs: number): boolean {
  return maxAgeMs !== null && occurredAt !== null && msFromTime(occurredAt) < nowMs - maxAgeMs
}
