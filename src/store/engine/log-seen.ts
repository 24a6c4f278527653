import type { RawBuilder } from 'kysely'

/** A position in the change log, and what distinguishes its change from another with the same number. */
export interface LogMark {
  readonly seq: number
  readonly fingerprint: string
  /** Account and submission of the changes that were appended up to here, if known. */
  readonly touched: readonly (readonly [account: string, submissionId: string])[]
}

/** Knowledge of the change log outside the database. */
export interface KnownLog {
  readonly logEpoch: string
  /** Ascending by number. */
  readonly marks: readonly LogMark[]
}

/** Each append leaves a mark; only the newest are kept. */
const MARKS = 1_000

/**
 * What this process knows of the change log from its own commits and reads: epoch, server, and newest changes. It outlives a replaced
 * database and so reveals the replacement (see `changes/log-epoch.ts`).
 */
export class LogSeen implements KnownLog {
  logEpoch = ''
  /** The server of the epoch, as `log-origin.ts` reads it; null before the first check. */
  server: string | null = null
  /** How to ask Postgres for its server, once known. */
  serverExpression: RawBuilder<string> | undefined
  #marks: LogMark[] = []

  get marks(): readonly LogMark[] {
    return this.#marks
  }

  get newest(): LogMark | undefined {
    return this.#marks.at(-1)
  }

  /** Records epoch and server after a check. Marks of another epoch are dropped. */
  settle(logEpoch: string, server: string): void {
    if (logEpoch !== this.logEpoch) this.#marks = []
    this.logEpoch = logEpoch
    this.server = server
  }

  /** Records a committed change. Older ones, and those of another epoch, are ignored. */
  add(logEpoch: string, mark: LogMark): void {
    if (logEpoch !== this.logEpoch || mark.seq <= (this.newest?.seq ?? 0)) return
    this.#marks.push(mark)
    if (this.#marks.length > MARKS) this.#marks.shift()
  }
}
