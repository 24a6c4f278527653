import type { Log } from '../../base/log.ts'
import type { Observer } from '../../base/observer.ts'
import type { Service } from '../../base/service.ts'
import { countArrivals } from '../../store/completeness/arrival-counts.ts'
import { countLostWebhooks, saveLostAfter } from '../../store/completeness/lost-webhooks.ts'
import type { Db } from '../../store/engine/db.ts'
import { spanText } from '../output/text.ts'

const EVERY_MS = 60_000
const PAUSE_MS = 50

/** Counts every minute how records became known, and which of them no webhook announced. */
export class LostWebhookCounter implements Service {
  readonly name = 'lost webhooks'
  readonly #db: Db
  readonly #log: Log
  readonly #observer: Observer
  readonly #accounts: readonly string[]
  readonly #lostAfterMs: number

  /** @param lostAfterMs the setting WEBHOOK_LOST_AFTER. */
  constructor(db: Db, log: Log, observer: Observer, accounts: readonly string[], lostAfterMs: number) {
    this.#db = db
    this.#log = log
    this.#observer = observer
    this.#accounts = accounts
    this.#lostAfterMs = lostAfterMs
    // Counters start at 0, so that the first increase is visible.
    for (const account of accounts) {
      for (const entity of ['market_events', 'thread_messages']) observer.count('lost_webhooks_total', { account, entity }, 0)
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    await saveLostAfter(this.#db, this.#lostAfterMs)
    while (!signal.aborted) {
      for (let more = true; more && !signal.aborted; ) {
        more = await countArrivals(this.#db)
        if (more) await this.#db.clock.sleep(PAUSE_MS, signal)
      }
      for (const account of this.#accounts) await this.#count(account, signal)
      await this.#db.clock.sleep(Math.min(EVERY_MS, this.#lostAfterMs), signal)
    }
  }

  async #count(account: string, signal: AbortSignal): Promise<void> {
    for (let more = true; more && !signal.aborted; ) {
      const step = await countLostWebhooks(this.#db, account, this.#lostAfterMs)
      for (const { entity, count } of step.lost) {
        this.#observer.count('lost_webhooks_total', { account, entity }, count)
        this.#log.warn(
          { account, entity, count },
          `${count} ${entity} of account ${account} were found by polling; no webhook announced them within ${spanText(this.#lostAfterMs)}`,
        )
      }
      more = step.more
      if (more) await this.#db.clock.sleep(PAUSE_MS, signal)
    }
  }
}
