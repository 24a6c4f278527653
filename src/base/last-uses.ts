import type { Clock } from './clock.ts'
import { messageOf } from './errors.ts'
import type { Log } from './log.ts'
import type { Service } from './service.ts'

/** Only people read these times; they need not be newer. */
const WRITE_EVERY_MS = 10_000

/** When something of an account was used last. `key` tells what, within the account. */
export interface LastUse {
  readonly account: string
  readonly key: string
  readonly atMs: number
}

interface Parts {
  /** What is used, in the plural, for logs. */
  readonly name: string
  readonly save: (uses: readonly LastUse[]) => Promise<void>
  readonly clock: Clock
  readonly log: Log
}

/** Collects in memory when things were used last, and writes it every 10 s. A crash loses some; the next use brings them back. */
export class LastUses implements Service {
  readonly name: string
  readonly #parts: Parts
  #pending = new Map<string, LastUse>()

  constructor(parts: Parts) {
    this.name = parts.name
    this.#parts = parts
  }

  /** Notes a use; of several, the newest counts. */
  note(account: string, key: string, atMs: number): void {
    const id = `${account} ${key}`
    const known = this.#pending.get(id)
    this.#pending.set(id, { account, key, atMs: Math.max(known?.atMs ?? atMs, atMs) })
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#parts.clock.sleep(WRITE_EVERY_MS, signal)
      await this.write()
    }
  }

  /** Writes what was noted. When the database is down, the next call writes it. */
  async write(): Promise<void> {
    if (this.#pending.size === 0) return
    const pending = this.#pending
    this.#pending = new Map()
    try {
      await this.#parts.save([...pending.values()])
    } catch (error) {
      for (const { account, key, atMs } of pending.values()) this.note(account, key, atMs)
      this.#parts.log.debug(
        { err: error },
        `the last uses of ${this.name} could not be written (${messageOf(error)}); retrying in ${WRITE_EVERY_MS / 1000} s`,
      )
    }
  }
}
