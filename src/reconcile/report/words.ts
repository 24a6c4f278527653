import { msFromTime, type TimeText } from '../../model/time.ts'
import type { FindingKind } from '../../store/schema/reconcile.ts'
import type { BucketUnit } from './report-data.ts'

export const kindNames: Readonly<Record<FindingKind, string>> = {
  missing: 'Missing in the mirror',
  different: 'Different in the mirror',
  absent: 'No longer at the service',
  unreadable: 'Could not be read',
  undelivered: 'Delivery unconfirmed',
  lost: 'Gaps in the change log',
  moved: 'Changed since the last read',
}

/** @returns a label for `first_seen_via` or `tracked_via`. An unknown value is returned unchanged. */
export function viaName(via: string): string {
  const names: Readonly<Record<string, string>> = {
    webhook: 'by webhook',
    poll: 'by polling or a scheduled full re-read',
    full_read: 'by a full re-read',
    backfill: 'history, by the first read',
    reconcile: 'by a reconciliation',
    command: 'by an operator',
  }
  return names[via] ?? via
}

export const unitNames: Readonly<Record<BucketUnit, string>> = {
  second: 'second',
  minute: 'minute',
  hour: 'hour',
  day: 'day',
  week: 'week, from Monday',
  month: 'month',
}

/** @returns a number with separators: `1,234`. */
export function number(n: number): string {
  return n.toLocaleString('en-US')
}

/** @returns a number with its noun: `1 record`, `2,000 records`. */
export function pluralize(n: number, singular: string): string {
  return `${number(n)} ${singular}${n === 1 ? '' : 's'}`
}

/** @returns a time to the second: `2026-01-31 08:00:00 UTC`. */
export function moment(time: TimeText): string {
  return `${time.slice(0, 10)} ${time.slice(11, 19)} UTC`
}

/** @returns the time between two times: `4.2 s`, `3 min 5 s`, or `1 h 2 min`. */
export function duration(from: TimeText, to: TimeText): string {
  const ms = Math.max(0, msFromTime(to) - msFromTime(from))
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function bucketLabel(at: TimeText, unit: BucketUnit): string {
  if (unit === 'second') return at.slice(11, 19)
  if (unit === 'minute') return at.slice(11, 16)
  if (unit === 'hour') return `${at.slice(5, 10)} ${at.slice(11, 16)}`
  return unit === 'month' ? at.slice(0, 7) : at.slice(0, 10)
}
