import type { RawBuilder } from 'kysely'

/** A change number with a fingerprint. The fingerprint distinguishes two changes with the same number. */
export interface LogMark {
  readonly seq: number
  readonly fingerprint: string
  /** Submissions of this change and of the changes appended together with it; empty if unknown. */
  readonly touched: readonly (readonly [account: string, submissionId: string])[]
}

/** Facts about a change log that are kept outside the database: in memory or in a file. */
export interface KnownLog {
  readonly logEpoch: string
  /** In ascending order of `seq`. */
  readonly marks: readonly LogMark[]
}

/** Maximum marks in memory. Each append adds a mark. */
const MARKS = 1_000

/**
 * What this process knows about the change log: epoch, server, and newest changes.
 * If another database, such as a backup, replaces the database, these facts differ from the new change log.
 * `changes/log-epoch.ts` then detects the replacement.
 */
export class LogSeen implements KnownLog {
  logEpoch = ''
  /** Identity of the server at the last check, as `serverOf` returns it; null before the first check. */
  server: string | null = null
  /** SQL expression that identifies the Postgres server; undefined before `identifyServer`, and on SQLite. */
  serverExpression: RawBuilder<string> | undefined
  #marks: LogMark[] = []

  get marks(): readonly LogMark[] {
    return this.#marks
  }

  get newest(): LogMark | undefined {
    return this.#marks.at(-1)
  }

  /** Records epoch and server after a check. If the epoch is new, drops all marks. */
  settle(logEpoch: string, server: string): void {
    if (logEpoch !== this.logEpoch) this.#marks = []
    this.logEpoch = logEpoch
    this.server = server
  }

  /** Adds the mark of a committed change. Ignores changes of other epochs, and changes older than the newest mark. */
  add(logEpoch: string, mark: LogMark): void {
    if (logEpoch !== this.logEpoch || mark.seq <= (this.newest?.seq ?? 0)) return
    this.#marks.push(mark)
    if (this.#marks.length > MARKS) this.#marks.shift()
  }
}
