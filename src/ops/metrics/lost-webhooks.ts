import type { Service } from '../../base/service.ts'
import { countArrivals } from '../../store/completeness/arrival-counts.ts'
import { countLostWebhooks, saveLostAfter } from '../../store/completeness/lost-webhooks.ts'
import type { ServiceParts } from '../../store/engine/db.ts'
import { spanText } from '../output/text.ts'

const EVERY_MS = 60_000
const PAUSE_MS = 50

export interface LostWebhookOptions extends Pick<ServiceParts, 'db' | 'log' | 'observer'> {
  readonly accounts: readonly string[]
  /** WEBHOOK_LOST_AFTER in ms. */
  readonly lostAfterMs: number
}

/** At least every minute, counts new events and messages by how they became known, and counts lost webhooks. */
export class LostWebhookCounter implements Service {
  readonly name = 'lost webhooks'
  readonly #o: LostWebhookOptions

  constructor(options: LostWebhookOptions) {
    this.#o = options
    // Create the counters with 0. Otherwise, monitoring would miss the first increase.
    for (const account of options.accounts) {
      for (const entity of ['market_events', 'thread_messages']) options.observer.count('lost_webhooks_total', { account, entity }, 0)
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { db, accounts, lostAfterMs } = this.#o
    await saveLostAfter(db, lostAfterMs)
    while (!signal.aborted) {
      await this.#whileMore(signal, () => countArrivals(db))
      for (const account of accounts) await this.#whileMore(signal, () => this.#count(account))
      await db.clock.sleep(Math.min(EVERY_MS, lostAfterMs), signal)
    }
  }

  /** Repeats `step`, with pauses, until no work is left. @param step returns true if more work may be left. */
  async #whileMore(signal: AbortSignal, step: () => Promise<boolean>): Promise<void> {
    while (!signal.aborted && (await step())) await this.#o.db.clock.sleep(PAUSE_MS, signal)
  }

  async #count(account: string): Promise<boolean> {
    const { db, log, observer, lostAfterMs } = this.#o
    const { lost, more } = await countLostWebhooks(db, account, lostAfterMs)
    for (const { entity, count } of lost) {
      observer.count('lost_webhooks_total', { account, entity }, count)
      log.warn(
        { account, entity, count },
        `${count} ${entity} of account ${account} were found by polling; no webhook announced them within ${spanText(lostAfterMs)}`,
      )
    }
    return more
  }
}
