import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Observer } from '../../base/observer.ts'
import { shownOutcome } from '../../model/masking.ts'
import { msFromTime } from '../../model/time.ts'
import type { OutboxRow } from '../../store/outbox/work.ts'
import type { Outcome } from '../contract/delivery.ts'
import type { AttemptPlan } from './attempt-plan.ts'

/** Metrics and log lines about the attempts to one destination. */
export class Reports {
  readonly #clock: Clock
  readonly #log: Log
  readonly #observer: Observer
  readonly #destination: string

  constructor(clock: Clock, log: Log, observer: Observer, destination: string) {
    this.#clock = clock
    this.#log = log
    this.#observer = observer
    this.#destination = destination
  }

  /** A call of the kind ended. @param startedAt by `performance.now()`. */
  took(startedAt: number): void {
    this.#observer.time('push_seconds', (performance.now() - startedAt) / 1000, { destination: this.#destination })
  }

  /** A batch of so many changes was refused as a whole. */
  split(changes: number, { error, status }: Extract<Outcome, { type: 'split' }>): void {
    const destination = this.#destination
    const text = `${changes} changes in one request to destination ${destination} go in smaller batches: ${shownOutcome(error, status)}`
    this.#log.debug({ destination, changes, status }, text)
  }

  attempted(row: OutboxRow, outcome: Outcome, plan: AttemptPlan): void {
    const { state } = plan.row
    const destination = this.#destination
    // Of what is attempted again nothing is given up, whether or not it was answered.
    const ended = outcome.type === 'unknown' ? 'failed' : outcome.type
    this.#observer.count('push_attempts_total', { destination, outcome: state === 'ready' ? ended : state })
    if (state !== 'delivered') this.#logFailure(row, outcome, plan)
    // A row of a snapshot is as old as its record, and one that is sent again arrived long ago: neither says anything about the lag.
    else if (!row.snapshot && row.resent === null)
      this.#observer.time('push_lag_seconds', (this.#clock.now() - msFromTime(row.changedAt)) / 1000, { destination })
  }

  #logFailure(row: OutboxRow, outcome: Outcome, plan: AttemptPlan): void {
    const { state, attempts, status } = plan.row
    const error = plan.row.error === null ? null : shownOutcome(plan.row.error, status)
    const { outboxId, messageId, account, entity, submissionId } = row
    const fields = { destination: this.#destination, account, submission: submissionId, entity, message: messageId, attempts, status }
    // A message may be on its way to several destinations. The outbox id means this one alone.
    const id = `message ${messageId} to destination ${this.#destination}`
    if (state === 'dead') {
      this.#log.error(
        fields,
        `${id} was given up after ${attempts} attempts: ${error}; see \`submission-mirror outbox show ${outboxId}\`, then \`outbox retry ${outboxId}\``,
      )
    } else if (state === 'unknown') {
      this.#log.error(
        fields,
        `nobody knows whether ${id} arrived: ${error}; look for it there. If it is missing, run \`submission-mirror outbox retry ${outboxId}\`; if it arrived, \`submission-mirror outbox skip ${outboxId}\``,
      )
    } else if (outcome.type === 'record_taken') {
      this.#log.debug(fields, `the target has the record of ${id}; its document follows`)
    } else if (state === 'skipped') {
      this.#log.debug(fields, `${id} was ${error}`)
    } else {
      const isRetried = outcome.type === 'failed' || outcome.type === 'unknown' || outcome.type === 'throttled'
      this.#log.debug(fields, `${id}: ${isRetried ? 'will be attempted again' : outcome.type}: ${error}`)
    }
  }
}
