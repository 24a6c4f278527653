import { timeFromMs } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { figureSteps, readFigures } from '../../store/upkeep/figures.ts'
import { quantile } from './lag-histogram.ts'

const DAY_MS = 86_400_000

/** Figures of one destination: attempts by outcome, and delays from the change to its delivery by bucket. */
export const seriesOf = (destination: string) => ({ outcomes: `pushes:${destination}`, lags: `lag_push:${destination}` })

/** What a destination was sent in the last day. */
export interface LastDay {
  readonly delivered: number
  readonly given_up: number
  readonly success_rate: number | null
  readonly latency_p50: number | null
  readonly latency_p99: number | null
}

/** Sums up the hours that began within the last day, a row for each process and hour: no request counts the outbox. */
export async function readLastDay(q: Query): Promise<(destination: string) => LastDay> {
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
      given_up: dead + unknown,
      success_rate: ended === 0 ? null : delivered / ended,
      latency_p50: quantile(counts, 0.5),
      latency_p99: quantile(counts, 0.99),
    }
  }
}
