import type { RawBuilder } from 'kysely'

/** A change number with a fingerprint, which distinguishes changes with the same number. */
export interface LogMark {
  readonly seq: number
  readonly fingerprint: string
  /** Account and submission of each change appended with this mark, if known. */
  readonly touched: readonly (readonly [account: string, submissionId: string])[]
}

/** The change log as known outside the database. */
export interface KnownLog {
  readonly logEpoch: string
  /** Ascending by number. */
  readonly marks: readonly LogMark[]
}

/** Maximum marks; each append adds one. */
const MARKS = 1_000

/**
 * The change log as this process knows it from commits and reads: epoch, server, and newest changes. Survives a replacement of the database
 * and so reveals it (see `changes/log-epoch.ts`).
 */
export class LogSeen implements KnownLog {
  logEpoch = ''
  /** The server of the epoch, as `log-origin.ts` reads it; null before the first check. */
  server: string | null = null
  /** SQL that identifies the server, once known. */
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

  /** Records a committed change. Ignores older changes and other epochs. */
  add(logEpoch: string, mark: LogMark): void {
    if (logEpoch !== this.logEpoch || mark.seq <= (this.newest?.seq ?? 0)) return
    this.#marks.push(mark)
    if (this.#marks.length > MARKS) this.#marks.shift()
  }
}
