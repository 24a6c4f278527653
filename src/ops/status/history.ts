import { z } from 'zod'
import { timeFromMs } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import { figureSteps, readFigures } from '../../store/upkeep/figures.ts'
import { record, time } from '../output/schema.ts'
import { type LagCounts, quantile } from './lag-histogram.ts'

const MINUTE_S = 60
const HOUR_S = 3_600

/** Time windows that the history can show. `stepS` is the length of a step in seconds. */
const windows = {
  '1h': { steps: 60, stepS: MINUTE_S, from: figureSteps.minute },
  '24h': { steps: 96, stepS: 15 * MINUTE_S, from: figureSteps.minute },
  '7d': { steps: 84, stepS: 2 * HOUR_S, from: figureSteps.hour },
  '30d': { steps: 90, stepS: 8 * HOUR_S, from: figureSteps.hour },
} as const

export type HistoryWindow = keyof typeof windows
export const historyWindows = Object.keys(windows) as [HistoryWindow, ...HistoryWindow[]]

/** Series of counts. A step of the history is the sum of its minutes or hours. */
const countedSeries = ['deliveries', 'applied', 'lost', 'upstream'] as const
export type CountedSeries = (typeof countedSeries)[number]
export type LagSeries = 'lag_mirror' | 'lag_push'

const values = z.array(z.number().nullable()).describe('one per step; null if no process recorded data')
const line = record('HistoryLine', { label: z.string(), total: z.int(), values })
const queue = record('HistoryQueue', {
  label: z.string(),
  now: z.int().nullable().describe('at the newest recorded step'),
  most: z.int(),
  values,
})
const seconds = z.number().nullable().describe('seconds; null without data')
const lag = record(
  'HistoryLag',
  { count: z.int(), p50: seconds, p99: seconds, p50_values: values, p99_values: values },
  'in seconds, accurate to 26 %',
)

export const history = record('History', {
  window: z.enum(historyWindows),
  step_seconds: z.int(),
  steps: z.array(time).describe('start of each step; the last step is in progress'),
  deliveries: z.array(line).describe('webhook deliveries, by HTTP status'),
  applied: z.array(line).describe('changes to the mirror, by cause'),
  lost: z.array(line).describe('records without a webhook within `WEBHOOK_LOST_AFTER`, by table, at the time of detection'),
  lag: z.object({
    mirror: lag.describe('from an event or message to its row in the mirror; without backfill and replayed deliveries'),
    push: lag.describe('from the change in the mirror to its delivery; without snapshots and resent changes'),
  }),
  upstream: z.array(line).describe('requests to the service, by answer class'),
  queues: z.array(queue).describe('largest queues: `inbox` to be applied, `outbox` to be pushed'),
})

type Line = z.output<typeof line>
type QueueLine = z.output<typeof queue>
type LagLine = z.output<typeof lag>
type History = z.output<typeof history>

type Sums = Map<string, Map<string, number>>

/** @returns the history of a window. Combines the counts that all processes recorded per minute or hour. */
export async function readHistory(db: Db, window: HistoryWindow): Promise<History> {
  const { steps, stepS, from } = windows[window]
  const stepMs = stepS * 1_000
  const lastMs = Math.floor(db.clock.now() / stepMs) * stepMs
  const starts = Array.from({ length: steps }, (_, index) => lastMs - (steps - 1 - index) * stepMs)
  const [firstMs = lastMs] = starts
  const sums: (Sums | null)[] = starts.map(() => null)
  for (const { at, figures } of await readFigures(db.read, from, timeFromMs(firstMs))) {
    const index = Math.floor((Date.parse(at) - firstMs) / stepMs)
    // Skip steps in the future. A process whose clock is ahead recorded these steps.
    if (index >= steps) continue
    const sum: Sums = sums[index] ?? new Map()
    sums[index] = sum
    for (const [series, labels] of Object.entries(figures)) add(sum, series, labels)
  }
  const counted = Object.fromEntries(countedSeries.map((series) => [series, linesOf(sums, series)])) as Record<CountedSeries, Line[]>
  return {
    window,
    step_seconds: stepS,
    steps: starts.map(timeFromMs),
    ...counted,
    lag: { mirror: lagOf(sums, 'lag_mirror'), push: lagOf(sums, 'lag_push') },
    queues: queuesOf(sums),
  }
}

function add(sum: Sums, series: string, labels: Readonly<Record<string, number>>): void {
  const known = sum.get(series) ?? new Map<string, number>()
  sum.set(series, known)
  for (const [label, n] of Object.entries(labels)) {
    const before = known.get(label) ?? 0
    // Every process records the length of the same queue, so use the maximum instead of the sum.
    known.set(label, series === 'queues' ? Math.max(before, n) : before + n)
  }
}

function labelsOf(sums: readonly (Sums | null)[], series: string): string[] {
  return [...new Set(sums.flatMap((sum) => [...(sum?.get(series)?.keys() ?? [])]))].sort()
}

function linesOf(sums: readonly (Sums | null)[], series: string): Line[] {
  return labelsOf(sums, series).map((label) => {
    const values = sums.map((sum) => sum && (sum.get(series)?.get(label) ?? 0))
    return { label, total: values.reduce<number>((total, value) => total + (value ?? 0), 0), values }
  })
}

function queuesOf(sums: readonly (Sums | null)[]): QueueLine[] {
  return labelsOf(sums, 'queues').map((label) => {
    const values = sums.map((sum) => sum?.get('queues')?.get(label) ?? null)
    const known = values.filter((value) => value !== null)
    return { label, now: known.at(-1) ?? null, most: Math.max(0, ...known), values }
  })
}

function lagOf(sums: readonly (Sums | null)[], series: LagSeries): LagLine {
  const all = new Map() as Sums
  const each = sums.map((sum): LagCounts => Object.fromEntries(sum?.get(series) ?? []))
  for (const counts of each) add(all, series, counts)
  const total: LagCounts = Object.fromEntries(all.get(series) ?? [])
  return {
    count: Object.values(total).reduce((count, n) => count + n, 0),
    p50: quantile(total, 0.5),
    p99: quantile(total, 0.99),
    p50_values: each.map((counts) => quantile(counts, 0.5)),
    p99_values: each.map((counts) => quantile(counts, 0.99)),
  }
}
