import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { SeenCount } from '../../store/reconcile/figures.ts'
import { type BucketUnit, bucketUnits, type FirstSeen } from './report-data.ts'

const SECOND = 1_000
const DAY = 86_400 * SECOND
/** Monday, 1970-01-05, in milliseconds since the epoch. */
const FIRST_MONDAY = 4 * DAY
const lengths = { second: SECOND, minute: 60 * SECOND, hour: 3_600 * SECOND, day: DAY, week: 7 * DAY, month: 28 * DAY } as const
/** Largest number of columns in a readable chart, for each unit. */
const MAX_BUCKETS = { second: 90, minute: 90, hour: 96, day: 92, week: 104, month: Number.POSITIVE_INFINITY } as const

function unitFor(first: TimeText, last: TimeText): BucketUnit {
  const span = msFromTime(last) - msFromTime(first)
  return bucketUnits.find((unit) => span / lengths[unit] < MAX_BUCKETS[unit]) ?? 'month'
}

/** Groups counts into consecutive columns of a chart, and adds up the totals. */
export function firstSeenOf(counts: readonly SeenCount[]): FirstSeen {
  const times = counts.map(({ at }) => at).sort()
  const [first, last] = [times[0], times.at(-1)]
  if (first === undefined || last === undefined) return { unit: 'day', buckets: [], totals: [] }
  const unit = unitFor(first, last)
  const columns = new Map<number, Record<string, number>>()
  for (let at = bucketOf(first, unit); at <= bucketOf(last, unit); at = nextBucket(at, unit)) columns.set(at, {})
  const totals = new Map<string, { via: string; events: number; messages: number }>()
  for (const { at, via, entity, count } of counts) {
    const column = columns.get(bucketOf(at, unit)) as Record<string, number>
    column[via] = (column[via] ?? 0) + count
    const total = totals.get(via) ?? { via, events: 0, messages: 0 }
    totals.set(via, total)
    total[entity === 'market_events' ? 'events' : 'messages'] += count
  }
  return {
    unit,
    buckets: [...columns].map(([at, kept]) => ({ at: timeFromMs(at), counts: kept })),
    totals: [...totals.values()].sort((a, b) => viaRank(a.via) - viaRank(b.via) || (a.via < b.via ? -1 : 1)),
  }
}

const viaOrder = ['webhook', 'poll', 'backfill', 'reconcile']

/** @returns the display position of a `first_seen_via` value. Values that `viaOrder` lacks come last. */
export function viaRank(via: string): number {
  const index = viaOrder.indexOf(via)
  return index < 0 ? viaOrder.length : index
}

export function sum(counts: FirstSeen['buckets'][number]['counts']): number {
  return Object.values(counts).reduce((total, n) => total + n, 0)
}

function bucketOf(at: TimeText, unit: BucketUnit): number {
  const ms = msFromTime(at)
  if (unit === 'week') return Math.floor((ms - FIRST_MONDAY) / lengths.week) * lengths.week + FIRST_MONDAY
  if (unit === 'month') return Date.UTC(Number(at.slice(0, 4)), Number(at.slice(5, 7)) - 1, 1)
  return Math.floor(ms / lengths[unit]) * lengths[unit]
}

function nextBucket(at: number, unit: BucketUnit): number {
  if (unit !== 'month') return at + lengths[unit]
  const month = new Date(at)
  return Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 1)
}
