import type { RawBuilder } from 'kysely'

/** A change number with a fingerprint. The fingerprint distinguishes two changes with the same number. */
export interface LogMark {
  readonly seq: number
  readonly fingerprint: string
  /** Account and submission of each change in the same append, if known. */
  readonly touched: readonly (readonly [account: string, submissionId: string])[]
}

/** A change log as known outside the database. */
export interface KnownLog {
  readonly logEpoch: string
  /** In ascending order of `seq`. */
  readonly marks: readonly LogMark[]
}

/** Maximum marks in memory. Each append adds a mark. */
const MARKS = 1_000

/**
 * What this process knows of the change log: epoch, server, and newest changes.
 * The process keeps this knowledge if the database is replaced, and so detects the replacement (see
 * `changes/log-epoch.ts`).
 */
export class LogSeen implements KnownLog {
  logEpoch = ''
  /** Server of the epoch, in the form of `log-origin.ts`; null before the first check. */
  server: string | null = null
  /** SQL that identifies the server; undefined until `identifyServer` finds the expression. */
  serverExpression: RawBuilder<string> | undefined
  #marks: LogMark[] = []

  get marks(): readonly LogMark[] {
    return this.#marks
  }

  get newest(): LogMark | undefined {
    return this.#marks.at(-1)
  }

  /** Records epoch and server after a check. Drops marks of another epoch. */
  settle(logEpoch: string, server: string): void {
    if (logEpoch !== this.logEpoch) this.#marks = []
    this.logEpoch = logEpoch
    this.server = server
  }

  /** Records the mark of a committed change. Ignores older changes and other epochs. */
  add(logEpoch: string, mark: LogMark): void {
    if (logEpoch !== this.logEpoch || mark.seq <= (this.newest?.seq ?? 0)) return
    this.#marks.push(mark)
    if (this.#marks.length > MARKS) this.#marks.shift()
  }
}
