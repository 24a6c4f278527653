import { messageOf, UsageError } from '../base/errors.ts'
import type { KnownSecrets, Log } from '../base/log.ts'
import type { Observer } from '../base/observer.ts'
import type { Config } from '../config/config.ts'
import { secretValues } from '../config/secret-values.ts'
import type { ReloadResult } from '../ops/actions/reload.ts'
import { compareSettings, type SettingsChange } from './settings-changes.ts'

export interface ReloaderOptions {
  /** Reads and checks all settings anew. @throws UsageError with every problem. */
  readonly load: () => Promise<Config>
  /** The settings in force. */
  readonly current: () => Config
  /** Puts other settings into force. When it throws, the old ones stay in force. */
  readonly apply: (config: Config) => Promise<void>
  readonly secrets: KnownSecrets
  readonly log: Log
  readonly observer: Observer
}

const STOPPING = ['the process is stopping, so the settings were not reloaded; the next start reads them']

/**
 * Reloads the settings of a running process (trap 37). All of them are read and checked as at the start; one problem and nothing changes.
 * Reloads run one after another. A request that comes while another waits for its turn shares that turn.
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

  /** Refuses reloads from now on; one in progress makes no change that it has not begun. */
  close(): void {
    this.#closed = true
  }

  async #reload(): Promise<ReloadResult> {
    if (this.#closed) return this.#told({ problems: STOPPING })
    let change: SettingsChange
    try {
      const wanted = await this.#o.load()
      // Before any line could log them.
      this.#o.secrets.add(secretValues(wanted), wanted.taxIdFields)
      if (this.#closed) return this.#told({ problems: STOPPING })
      const { warnings } = this.#o.current()
      for (const warning of wanted.warnings) if (!warnings.includes(warning)) this.#o.log.warn(warning)
      change = compareSettings(this.#o.current(), wanted)
      if (change.applied.length > 0) await this.#o.apply(change.config)
    } catch (error) {
      return this.#told({ problems: error instanceof UsageError ? error.problems : [messageOf(error)] })
    }
    const { applied, needsRestart } = change
    return this.#told({ applied, needsRestart })
  }

  #told({ applied = [], needsRestart = [], problems = [] }: Partial<ReloadResult>): ReloadResult {
    const { log, observer } = this.#o
    const { fromEnvironment } = this.#o.current()
    observer.count('reloads_total', { outcome: problems.length > 0 ? 'refused' : applied.length > 0 ? 'applied' : 'unchanged' })
    if (problems.length > 0) log.error({ problems }, `settings not reloaded, nothing changed: ${problems.join('; ')}`)
    else if (applied.length > 0) log.info({ applied }, `settings reloaded: ${applied.join('; ')}`)
    else log.info('settings reloaded: nothing changed that applies without a restart')
    if (needsRestart.length > 0)
      log.warn({ needsRestart }, `${needsRestart.join(', ')} changed in the settings but need a restart of \`serve\` to apply`)
    return { applied, needsRestart, fromEnvironment, problems }
  }
}
