import { z } from 'zod'
import { timeFromMs } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { figureSteps, readFigures } from '../../store/upkeep/figures.ts'
import { quantile } from './lag-histogram.ts'

const DAY_MS = 86_400_000

/** @returns the names of a destination's series: attempts by outcome, and push delays by bucket. */
export const seriesOf = (destination: string) => ({ outcomes: `pushes:${destination}`, lags: `lag_push:${destination}` })

/** Deliveries to a destination in the last day. */
export const lastDay = z
  .object({
    delivered: z.int(),
    dead_lettered: z.int(),
    unknown: z.int().describe('with unknown outcome'),
    success_rate: z.number().nullable().describe('delivered share of completed changes, 0 to 1; null if none completed'),
    latency_p50: z.number().nullable().describe('seconds from the change to its delivery; without snapshots and resent changes'),
    latency_p99: z.number().nullable().describe('seconds, likewise'),
  })
  .describe('in the hours that began within the last 24')

/**
 * Sums the recorded hours that began within the last day.
 * Reads one row per process and hour, which is faster than counting the outbox.
 * @returns a function that returns the sums of a destination.
 */
export async function readLastDay(q: Query): Promise<(destination: string) => z.output<typeof lastDay>> {
  const hours = await readFigures(q, figureSteps.hour, timeFromMs(q.clock.now() - DAY_MS))
  const sum = (series: string) => {
    const total: Record<string, number> = {}
    for (const { figures } of hours) for (const [label, n] of Object.entries(figures[series] ?? {})) total[label] = (total[label] ?? 0) + n
    return total
  }
  return (destination) => {
    const { outcomes, lags } = seriesOf(destination)
    const { delivered = 0, dead = 0, unknown = 0 } = sum(outcomes)
    const counts = sum(lags)
    const ended = delivered + dead + unknown
    return {
      delivered,
      dead_lettered: dead,
      unknown,
      success_rate: ended === 0 ? null : delivered / ended,
      latency_p50: quantile(counts, 0.5),
      latency_p99: quantile(counts, 0.99),
    }
  }
}
