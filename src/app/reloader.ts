import { messageOf, UsageError } from '../base/errors.ts'
import type { KnownSecrets, Log } from '../base/log.ts'
import type { Observer } from '../base/observer.ts'
import type { Config } from '../config/config.ts'
import { secretValues } from '../config/config.ts'
import type { ReloadResult } from '../ops/actions/reload-result.ts'
import { compareSettings, type SettingsChange } from './settings-changes.ts'

export interface ReloaderOptions {
  /** Reads and checks all settings anew. @throws UsageError with every problem. */
  readonly load: () => Promise<Config>
  /** By which the process works now. */
  readonly current: () => Config
  /** Lets the process work by other settings, as a whole: when it throws, it works by those before. */
  readonly apply: (config: Config) => Promise<void>
  readonly secrets: KnownSecrets
  readonly log: Log
  readonly observer: Observer
}

const STOPPING: ReloadResult = {
  applied: [],
  needsRestart: [],
  problems: ['the process is stopping, so the settings are not read again; it reads them when it starts'],
}

/**
 * Lets a running process work by settings that have changed (trap 37). The whole of them is read and checked as at the start: when anything
 * is wrong, nothing changes. Reloads go one after another; those who ask while one waits for its turn share it, since it reads later.
 */
export class Reloader {
  readonly #o: ReloaderOptions
  #last: Promise<unknown> = Promise.resolve()
  #waiting: Promise<ReloadResult> | null = null
  #closed = false

  constructor(options: ReloaderOptions) {
    this.#o = options
  }

  /** Never rejects. */
  reload(): Promise<ReloadResult> {
    if (this.#waiting !== null) return this.#waiting
    const turn = this.#last.then(() => {
      this.#waiting = null
      return this.#reload()
    })
    this.#waiting = turn
    this.#last = turn
    return turn
  }

  /** From now on a reload is refused; one that is under way changes nothing that has not begun to change. */
  close(): void {
    this.#closed = true
  }

  async #reload(): Promise<ReloadResult> {
    if (this.#closed) return this.#told(STOPPING)
    let change: SettingsChange
    try {
      const wanted = await this.#o.load()
      // Before anything can be logged of them.
      this.#o.secrets.add(secretValues(wanted), wanted.taxIdFields)
      if (this.#closed) return this.#told(STOPPING)
      change = compareSettings(this.#o.current(), wanted)
      if (change.applied.length > 0) await this.#o.apply(change.config)
    } catch (error) {
      return this.#told({ applied: [], needsRestart: [], problems: error instanceof UsageError ? error.problems : [messageOf(error)] })
    }
    const { applied, needsRestart } = change
    return this.#told({ applied, needsRestart, problems: [] })
  }

  #told(result: ReloadResult): ReloadResult {
    const { log, observer } = this.#o
    const { applied, needsRestart, problems } = result
    observer.count('reloads_total', { outcome: problems.length > 0 ? 'refused' : applied.length > 0 ? 'applied' : 'unchanged' })
    if (problems.length > 0) log.error({ problems }, `the settings were not reloaded, and nothing was changed: ${problems.join('; ')}`)
    else if (applied.length > 0) log.info({ applied }, `the settings were reloaded: ${applied.join('; ')}`)
    else log.info('the settings were read again; nothing is different that can change while the process runs')
    if (needsRestart.length > 0)
      log.warn({ needsRestart }, `${needsRestart.join(', ')} changed in the settings and stayed as before; start \`serve\` anew for that`)
    return result
  }
}
