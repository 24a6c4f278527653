import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Labels, Observer } from '../../base/observer.ts'
import { msFromTime } from '../../model/time.ts'
import type { OutboxRow } from '../../store/outbox/work.ts'
import type { Outcome } from '../contract/delivery.ts'
import type { AttemptPlan } from './attempt-plan.ts'

/** Metrics and lines of the log about one destination's tries. */
export class Reports {
  readonly #clock: Clock
  readonly #log: Log
  readonly #observer: Observer
  readonly #destination: string
  readonly #labels: Labels
  /** Kept, because they are needed for each try. */
  readonly #outcomes = new Map<string, Labels>()

  constructor(clock: Clock, log: Log, observer: Observer, destination: string) {
    this.#clock = clock
    this.#log = log
    this.#observer = observer
    this.#destination = destination
    this.#labels = { destination }
  }

  /** A call of the kind ended. @param startedAt by `performance.now()`. */
  took(startedAt: number): void {
    this.#observer.time('push_seconds', (performance.now() - startedAt) / 1000, this.#labels)
  }

  tried(row: OutboxRow, outcome: Outcome, plan: AttemptPlan): void {
    const { state } = plan.row
    this.#observer.count('push_attempts_total', this.#labelsOf(state === 'ready' ? outcome.type : state))
    if (state === 'delivered') {
      // A row of a snapshot is as old as its record; that says nothing of how long it took.
      if (!row.snapshot) this.#observer.time('push_lag_seconds', (this.#clock.now() - msFromTime(row.changedAt)) / 1000, this.#labels)
      return
    }
    this.#told(row, outcome, plan)
  }

  #told(row: OutboxRow, outcome: Outcome, plan: AttemptPlan): void {
    const { state, attempts, error, status } = plan.row
    const { outboxId, messageId, account, entity, submissionId } = row
    const fields = { destination: this.#destination, account, submission: submissionId, entity, message: messageId, attempts, status }
    // The message may be on its way to other destinations too; its number means this one alone.
    const id = `message ${messageId} to destination ${this.#destination}`
    if (state === 'dead') {
      this.#log.error(
        fields,
        `${id} was given up after ${attempts} tries: ${error}; see \`submission-mirror outbox show ${outboxId}\`, then \`outbox retry ${outboxId}\``,
      )
    } else if (state === 'unknown') {
      this.#log.error(
        fields,
        `nobody knows whether ${id} arrived: ${error}; look for it there, then \`submission-mirror outbox skip ${outboxId}\` or \`outbox retry ${outboxId}\``,
      )
    } else if (state === 'skipped') {
      this.#log.debug(fields, `${id} was ${error}`)
    } else {
      this.#log.debug(
        fields,
        `${id}: ${outcome.type === 'failed' || outcome.type === 'unknown' ? 'will be tried again' : outcome.type}: ${error}`,
      )
    }
  }

  #labelsOf(outcome: string): Labels {
    const kept = this.#outcomes.get(outcome)
    if (kept) return kept
    const labels = { destination: this.#destination, outcome }
    this.#outcomes.set(outcome, labels)
    return labels
  }
}
