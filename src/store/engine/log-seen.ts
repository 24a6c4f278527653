import type { RawBuilder } from 'kysely'

/** A place in the change log, and what tells its change from another one under the same number. */
export interface LogMark {
  readonly seq: number
  readonly fingerprint: string
  /** Account and submission of the changes that were appended up to here, where that is known. */
  readonly touched: readonly (readonly [account: string, submissionId: string])[]
}

/** What is known of the change log outside the database. */
export interface KnownLog {
  readonly logEpoch: string
  /** Ascending by number. */
  readonly marks: readonly LogMark[]
}

/** Each append leaves a mark; so many are kept. */
const MARKS = 1_000

/**
 * What this process knows of the change log from its own commits and looks: the epoch, the server, and the newest changes. It outlives the
 * database that it speaks of, so it shows when another one stands in its place (see `changes/log-epoch.ts`).
 */
export class LogSeen implements KnownLog {
  logEpoch = ''
  /** The server that the epoch belongs to, as `log-origin.ts` reads it; null before the first check. */
  server: string | null = null
  /** How the server is asked on Postgres, once that is known. */
  serverExpression: RawBuilder<string> | undefined
  #marks: LogMark[] = []

  get marks(): readonly LogMark[] {
    return this.#marks
  }

  get newest(): LogMark | undefined {
    return this.#marks.at(-1)
  }

  /** Learns the epoch and server after a check. Marks of another epoch are forgotten. */
  settle(logEpoch: string, server: string): void {
    if (logEpoch !== this.logEpoch) this.#marks = []
    this.logEpoch = logEpoch
    this.server = server
  }

  /** Learns of a committed change. Older ones, and those of another epoch, are ignored. */
  add(logEpoch: string, mark: LogMark): void {
    if (logEpoch !== this.logEpoch || mark.seq <= (this.newest?.seq ?? 0)) return
    this.#marks.push(mark)
    if (this.#marks.length > MARKS) this.#marks.shift()
  }
}
