import { closeSync, openSync } from 'node:fs'
import type { Clock } from '../../base/clock.ts'
import { codeOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'

const WARN_EVERY_MS = 60_000

/**
 * Detects that no file descriptor is left. Node then closes new connections before this program
 * sees them.
 */
export class DescriptorWatch {
  readonly #clock: Clock
  readonly #log: Log
  #alertedAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, log: Log) {
    this.#clock = clock
    this.#log = log
  }

  /** Tries to open a file. If no file descriptor is left, logs a warning, at most once a minute. */
  look(): void {
    if (this.#clock.steady() - this.#alertedAt < WARN_EVERY_MS) return
    try {
      closeSync(openSync('/dev/null', 'r'))
    } catch (error) {
      const code = codeOf(error)
      if (code !== 'EMFILE' && code !== 'ENFILE') return
      this.#alertedAt = this.#clock.steady()
      const [whose, fix] = code === 'EMFILE' ? ['this process has', 'LimitNOFILE, --ulimit nofile'] : ['the system has', 'fs.file-max']
      this.#log.warn(`${whose} no file descriptor left (${code}): new connections are closed without an answer; raise the limit (${fix})`)
    }
  }
}
