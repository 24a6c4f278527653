import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Service } from '../base/service.ts'
import { timeFromMs } from '../model/time.ts'
import type { Db } from '../store/engine/db.ts'
import { noteSecretUses, type SecretUse } from '../store/reads/webhook-secrets.ts'

/** What a person looks at need not be newer. */
const EVERY_MS = 10_000

/**
 * Writes down when each webhook secret verified a delivery last, so that operators see when an old one can go (trap 37). A delivery
 * costs no more than an entry in memory, and what is lost with a process is written at the next delivery.
 */
export class SecretUses implements Service {
  readonly name = 'webhook secrets'
  readonly #db: Db
  readonly #clock: Clock
  readonly #log: Log
  #pending = new Map<string, { account: string; tag: string; atMs: number }>()

  constructor(db: Db, clock: Clock, log: Log) {
    this.#db = db
    this.#clock = clock
    this.#log = log
  }

  /** A secret of the account has verified a delivery. @param tag see `secretTag`. */
  note(account: string, tag: string, atMs: number): void {
    const key = `${account} ${tag}`
    const known = this.#pending.get(key)
    if (known === undefined) this.#pending.set(key, { account, tag, atMs })
    else known.atMs = Math.max(known.atMs, atMs)
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(EVERY_MS, signal)
      await this.write()
    }
  }

  /** Writes what was noted. A store that is away is no reason to fail: the next turn writes it. */
  async write(): Promise<void> {
    if (this.#pending.size === 0) return
    const pending = this.#pending
    this.#pending = new Map()
    try {
      const uses = [...pending.values()].map(({ account, tag, atMs }): SecretUse => ({ account, tag, at: timeFromMs(atMs) }))
      await noteSecretUses(this.#db, uses)
    } catch (error) {
      for (const { account, tag, atMs } of pending.values()) this.note(account, tag, atMs)
      this.#log.debug({ err: error }, `the last uses of webhook secrets could not be written yet: ${messageOf(error)}`)
    }
  }
}
