import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Service } from '../base/service.ts'
import { timeFromMs } from '../model/time.ts'
import type { Db } from '../store/engine/db.ts'
import { type SecretUse, saveSecretUses } from '../store/reads/webhook-secrets.ts'

/** Only people read these times; they need not be newer. */
const WRITE_EVERY_MS = 10_000

/**
 * Records when each webhook secret last verified a delivery, so that operators see when an old secret can be removed (trap 37). Times
 * are collected in memory and written every 10 s. A crash loses some; the next delivery brings them back.
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

  /** Notes that a secret of the account verified a delivery. @param tag see `secretTag`. */
  note(account: string, tag: string, atMs: number): void {
    const key = `${account} ${tag}`
    const known = this.#pending.get(key)
    if (known === undefined) this.#pending.set(key, { account, tag, atMs })
    else known.atMs = Math.max(known.atMs, atMs)
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(WRITE_EVERY_MS, signal)
      await this.write()
    }
  }

  /** Writes what was noted. When the database is down, the next call writes it. */
  async write(): Promise<void> {
    if (this.#pending.size === 0) return
    const pending = this.#pending
    this.#pending = new Map()
    try {
      const uses = [...pending.values()].map(({ account, tag, atMs }): SecretUse => ({ account, tag, at: timeFromMs(atMs) }))
      await saveSecretUses(this.#db, uses)
    } catch (error) {
      for (const { account, tag, atMs } of pending.values()) this.note(account, tag, atMs)
      this.#log.debug(
        { err: error },
        `the last uses of webhook secrets could not be written (${messageOf(error)}); retrying in ${WRITE_EVERY_MS / 1000} s`,
      )
    }
  }
}
