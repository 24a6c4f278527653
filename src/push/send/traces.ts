import { messageOf } from '../../base/errors.ts'
import type { ServiceParts } from '../../store/engine/db.ts'
import { deliveriesBehind } from '../../store/inbox/causes.ts'
import type { Outcome, PushItem } from '../contract/delivery.ts'

export interface TracesOptions extends ServiceParts {
  readonly destination: { readonly name: string }
}

/** Tells of attempts as the last step of the deliveries that caused their changes. While nobody listens it does nothing. */
export class Traces {
  readonly #o: TracesOptions

  constructor(options: TracesOptions) {
    this.#o = options
  }

  /** An attempt begins. @returns what to call when it has ended, with its items and an outcome for each. */
  begin(): (items: readonly PushItem[], outcomes: readonly Outcome[]) => void {
    const { clock, log, observer } = this.#o
    if (observer.trace === undefined) return () => undefined
    const startMs = clock.now()
    return (items, outcomes) => {
      const endMs = clock.now()
      for (const [position, item] of items.entries()) {
        // Nothing waits for it: a database that is away costs a span.
        this.#tell(item, outcomes[position]?.type ?? 'unknown', startMs, endMs).catch((error: unknown) =>
          log.debug({ err: error }, `a push was not traced: ${messageOf(error)}`),
        )
      }
    }
  }

  async #tell(item: PushItem, outcome: Outcome['type'], startMs: number, endMs: number): Promise<void> {
    const { account, submissionId, entity, operation, seq, attempts, cause, snapshot, changedAt } = item
    if (cause !== 'webhook' || snapshot || submissionId === null) return
    const [of, ...orOf] = await deliveriesBehind(this.#o.db.read, { account, submissionId, changedAt })
    if (of === undefined) return
    const destination = this.#o.destination.name
    const attributes = { destination, entity, operation, seq, attempt: attempts + 1, outcome }
    this.#o.observer.trace?.({
      name: 'push',
      of,
      orOf,
      startMs,
      endMs,
      failed: outcome !== 'delivered' && outcome !== 'record_taken',
      attributes,
    })
  }
}
