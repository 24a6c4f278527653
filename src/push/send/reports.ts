import { messageOf } from '../../base/errors.ts'
import { shownOutcome } from '../../model/masking.ts'
import { msFromTime } from '../../model/time.ts'
import type { ServiceParts } from '../../store/engine/db.ts'
import { deliveriesBehind } from '../../store/inbox/causes.ts'
import type { OutboxRow } from '../../store/outbox/work.ts'
import type { Outcome, PushItem } from '../contract/delivery.ts'
import type { AttemptPlan } from './attempt-plan.ts'

interface ReportsOptions extends ServiceParts {
  readonly destination: { readonly name: string }
}

/** Metrics, logs, and traces of the attempts to send to one destination. */
export class Reports {
  readonly #o: ReportsOptions
  readonly #destination: string

  constructor(options: ReportsOptions) {
    this.#o = options
    this.#destination = options.destination.name
  }

  /** @param startedAt start of the attempt, from `performance.now()`. */
  took(startedAt: number): void {
    this.#o.observer.time('push_seconds', (performance.now() - startedAt) / 1000, { destination: this.#destination })
  }

  split(changes: number, { error, status }: Extract<Outcome, { type: 'split' }>): void {
    const destination = this.#destination
    const text = `${changes} changes of one request to destination ${destination} are sent again in smaller batches: ${shownOutcome(error, status)}`
    this.#o.log.debug({ destination, changes, status }, text)
  }

  attempted(row: OutboxRow, outcome: Outcome, plan: AttemptPlan): void {
    const { state } = plan.row
    const destination = this.#destination
    // While a row is retried, an unknown outcome counts as `failed`.
    const ended = outcome.type === 'unknown' ? 'failed' : outcome.type
    this.#o.observer.count('push_attempts_total', { destination, outcome: state === 'ready' ? ended : state })
    if (state !== 'delivered') this.#logFailure(row, outcome, plan)
    // A snapshot row or a resent change may be old. The time since the change then isn't the current lag.
    else if (!row.snapshot && row.resent === null)
      this.#o.observer.time('push_lag_seconds', (this.#o.clock.now() - msFromTime(row.changedAt)) / 1000, { destination })
  }

  #logFailure(row: OutboxRow, outcome: Outcome, plan: AttemptPlan): void {
    const { state, attempts, status } = plan.row
    const error = plan.row.error === null ? null : shownOutcome(plan.row.error, status)
    const { outboxId, messageId, account, entity, submissionId } = row
    const fields = { destination: this.#destination, account, submission: submissionId, entity, message: messageId, attempts, status }
    // The text names the destination, because a message may go to several destinations.
    const id = `message ${messageId} to destination ${this.#destination}`
    if (state === 'dead') {
      this.#o.log.error(
        fields,
        `${id} was dead-lettered after ${attempts} attempts: ${error}; see \`submission-mirror outbox show ${outboxId}\`, then \`outbox retry ${outboxId}\``,
      )
    } else if (state === 'unknown') {
      this.#o.log.error(
        fields,
        `${id} may have arrived: ${error}. Look for it at the target. If it is missing, run \`submission-mirror outbox retry ${outboxId}\`; if it arrived, \`submission-mirror outbox skip ${outboxId}\``,
      )
    } else if (outcome.type === 'record_taken') {
      this.#o.log.debug(fields, `the target has the record of ${id}; its document follows`)
    } else if (state === 'skipped') {
      this.#o.log.debug(fields, `${id} was ${error}`)
    } else {
      const isRetried = outcome.type === 'failed' || outcome.type === 'unknown' || outcome.type === 'throttled'
      this.#o.log.debug(fields, `${id}: ${isRetried ? 'will be attempted again' : outcome.type}: ${error}`)
    }
  }

  /**
   * Begins to trace an attempt, if a trace listener exists. The trace shows the attempt as the last step of the
   * deliveries that caused the changes.
   * @returns a function to call after the attempt, with the items and one outcome per item.
   */
  beginTrace(): (items: readonly PushItem[], outcomes: readonly Outcome[]) => void {
    const { clock, log, observer } = this.#o
    if (observer.trace === undefined) return () => undefined
    const startMs = clock.now()
    return (items, outcomes) => {
      const endMs = clock.now()
      for (const [position, item] of items.entries()) {
        // Nothing waits for the trace. If the database can't be reached, only the trace is lost.
        this.#trace(item, outcomes[position]?.type ?? 'unknown', startMs, endMs).catch((error: unknown) =>
          log.debug({ err: error }, `a push was not traced: ${messageOf(error)}`),
        )
      }
    }
  }

  async #trace(item: PushItem, outcome: Outcome['type'], startMs: number, endMs: number): Promise<void> {
    const { account, submissionId, entity, operation, seq, attempts, cause, snapshot, changedAt } = item
    if (cause !== 'webhook' || snapshot || submissionId === null) return
    const [of, ...orOf] = await deliveriesBehind(this.#o.db.read, { account, submissionId, changedAt })
    if (of === undefined) return
    const attributes = { destination: this.#destination, entity, operation, seq, attempt: attempts + 1, outcome }
    const failed = outcome !== 'delivered' && outcome !== 'record_taken'
    this.#o.observer.trace?.({ name: 'push', of, orOf, startMs, endMs, failed, attributes })
  }
}
