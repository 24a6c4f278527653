import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { CounterName, Labels, Observer, TimerName } from '../../base/observer.ts'
import type { Service } from '../../base/service.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import { countDestinations } from '../../store/outbox/destinations.ts'
import { type FigureStep, figureSteps, writeFigures } from '../../store/upkeep/figures.ts'
import { inboxGauges } from '../../store/upkeep/gauges.ts'
import type { CountedSeries, LagSeries } from '../status/history.ts'
import { bucketOf } from '../status/lag-histogram.ts'
import { seriesOf } from '../status/last-day.ts'

const EVERY_MS = 15_000
/**
 * After its end, a written step (a minute or an hour of counts) stays in memory for this many ms.
 * Otherwise, after the clock is set back, new counts would overwrite the stored counts.
 */
const REMEMBERED_MS = 2 * 3_600_000
/** If the counts of a time step can't be written, they are dropped this many ms after the step ends. */
const DROPPED_MS = 86_400_000

const counted: Partial<Readonly<Record<CounterName, readonly [CountedSeries, label: string]>>> = {
  deliveries_total: ['deliveries', 'answer'],
  applied_rows_total: ['applied', 'cause'],
  lost_webhooks_total: ['lost', 'entity'],
  upstream_requests_total: ['upstream', 'class'],
}

const timed: Partial<Readonly<Record<TimerName, LagSeries>>> = { record_lag_seconds: 'lag_mirror', push_lag_seconds: 'lag_push' }

interface Step {
  readonly seconds: number
  readonly startMs: number
  readonly figures: Record<string, Record<string, number>>
  isWritten: boolean
}

/**
 * Sums the counts and delays that the stages of this process report, per minute and per hour.
 * Writes the sums every 15 s.
 * Continues to count while the database is unavailable.
 */
export class FigureRecorder implements Service {
  readonly name = 'figures'
  readonly #db: Db
  readonly #log: Log
  readonly #steps = new Map<string, Step>()
  /** Time of the last delivered change, by destination. Contains only times that are not written yet. */
  readonly #successes = new Map<string, TimeText>()

  constructor(db: Db, log: Log) {
    this.#db = db
    this.#log = log
  }

  /** @returns an observer that passes each report to `observer` and also records it here. */
  besides(observer: Observer): Observer {
    return {
      ...observer,
      count: (name, labels, by) => {
        observer.count(name, labels, by)
        this.#count(name, labels, by)
      },
      time: (name, seconds, labels) => {
        observer.time(name, seconds, labels)
        const series = timed[name]
        if (series === undefined) return
        const lags = name === 'push_lag_seconds' ? [seriesOf(labels?.['destination'] ?? '').lags] : []
        for (const step of this.#now()) for (const each of [series, ...lags]) add(step, each, bucketOf(seconds), 1)
      },
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.write()
      await this.#db.clock.sleep(EVERY_MS, signal)
    }
    await this.write()
  }

  /** Records the current lengths of inbox and outbox, then writes all steps that changed since the last write. */
  async write(): Promise<void> {
    try {
      await this.#recordQueues()
      const open = [...this.#steps.values()].filter(({ isWritten }) => !isWritten)
      // Set the flag before writing. A count during the write resets the flag, so that the step is written again.
      for (const step of open) step.isWritten = true
      const successes = new Map(this.#successes)
      await writeFigures(this.#db, open.map(stored), successes).catch((error: unknown) => {
        for (const step of open) step.isWritten = false
        throw error
      })
      for (const [destination, at] of successes) if (this.#successes.get(destination) === at) this.#successes.delete(destination)
    } catch (error) {
      this.#log.debug({ err: error }, `counts could not be written and will be written later: ${messageOf(error)}`)
    }
    this.#forget()
  }

  #count(name: CounterName, labels: Labels = {}, by = 1): void {
    if (name === 'push_attempts_total') this.#countAttempts(labels, by)
    const [series, label] = counted[name] ?? []
    if (series === undefined || label === undefined || by === 0) return
    for (const step of this.#now()) add(step, series, labels[label] ?? '', by)
  }

  #countAttempts({ destination = '', outcome = '' }: Labels, by: number): void {
    for (const step of this.#now()) add(step, seriesOf(destination).outcomes, outcome, by)
    if (outcome === 'delivered') this.#successes.set(destination, timeFromMs(this.#db.clock.now()))
  }

  async #recordQueues(): Promise<void> {
    const [inbox] = await inboxGauges(this.#db.read, [])
    const outbox = (await countDestinations(this.#db.read, Number.MAX_SAFE_INTEGER)).reduce((sum, { queued }) => sum + queued, 0)
    for (const step of this.#now()) {
      for (const [label, n] of Object.entries({ inbox: inbox?.count ?? 0, outbox })) {
        const most = Math.max(step.figures['queues']?.[label] ?? 0, n)
        step.figures['queues'] = { ...step.figures['queues'], [label]: most }
      }
      step.isWritten = false
    }
  }

  /** @returns the steps of the current minute and hour. Creates missing steps. */
  #now(): Step[] {
    const now = this.#db.clock.now()
    return Object.values(figureSteps).map((seconds) => {
      const startMs = Math.floor(now / (seconds * 1_000)) * seconds * 1_000
      const key = `${seconds} ${startMs}`
      const step = this.#steps.get(key) ?? { seconds, startMs, figures: {}, isWritten: false }
      this.#steps.set(key, step)
      return step
    })
  }

  #forget(): void {
    const now = this.#db.clock.now()
    for (const [key, { startMs, seconds, isWritten }] of this.#steps) {
      const overMs = now - startMs - seconds * 1_000
      if (overMs > (isWritten ? REMEMBERED_MS : DROPPED_MS)) this.#steps.delete(key)
    }
  }
}

function add(step: Step, series: string, label: string, n: number): void {
  const labels = step.figures[series] ?? {}
  step.figures[series] = labels
  labels[label] = (labels[label] ?? 0) + n
  step.isWritten = false
}

function stored({ seconds, startMs, figures }: Step): FigureStep {
  return { stepSeconds: seconds, at: timeFromMs(startMs), figures }
}
