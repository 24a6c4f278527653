import { messageOf, UsageError } from '../base/errors.ts'
import type { KnownSecrets, Log } from '../base/log.ts'
import type { Observer } from '../base/observer.ts'
import type { Config } from '../config/config.ts'
import { secretValues } from '../config/secret-values.ts'
import { UNSET } from '../config/sources/file.ts'
import type { ReloadResult } from '../ops/actions/reload.ts'
import { compareSettings, type SettingsChange } from './settings-changes.ts'

export interface ReloaderOptions {
  /** Reads and checks all settings again. @throws UsageError with every problem. */
  readonly load: () => Promise<Config>
  /** The settings in force. */
  readonly current: () => Config
  /** Applies new settings. If `apply` throws, the old settings stay in force. */
  readonly apply: (config: Config) => Promise<void>
  readonly secrets: KnownSecrets
  readonly log: Log
  readonly observer: Observer
}

const STOPPING = ['the process is stopping, so the settings were not reloaded. The next start reads them.']

/**
 * Replaces `UNSET`, the advice to set a variable. The variable must be set for `serve`. Setting it for the command that
 * reloads has no effect.
 */
const UNSET_HERE = 'which is not set for `serve`. Set it there and restart `serve`'

function problemsOf(error: unknown): readonly string[] {
  return error instanceof UsageError ? error.problems.map((problem) => problem.replace(UNSET, UNSET_HERE)) : [messageOf(error)]
}

/**
 * Reloads the settings of a running process (trap 37). If any setting is invalid, nothing changes. Reloads run one at a
 * time. While a reload is queued, further requests share its result.
 */
export class Reloader {
  readonly #o: ReloaderOptions
  #last: Promise<unknown> = Promise.resolve()
  #waiting: Promise<ReloadResult> | null = null
  #closed = false

  constructor(options: ReloaderOptions) {
    this.#o = options
  }

  /** @returns what changed, or the problems. Never rejects. */
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

  /** Refuses reloads from now on. A reload that is still reading the settings applies nothing. */
  close(): void {
    this.#closed = true
  }

  async #reload(): Promise<ReloadResult> {
    if (this.#closed) return this.#report({ problems: STOPPING })
    let change: SettingsChange
    try {
      const wanted = await this.#o.load()
      // Registers the new secrets before anything logs a new setting. The log then masks the secrets.
      this.#o.secrets.add(secretValues(wanted), wanted.taxIdFields)
      if (this.#closed) return this.#report({ problems: STOPPING })
      const { warnings } = this.#o.current()
      for (const warning of wanted.warnings) if (!warnings.includes(warning)) this.#o.log.warn(warning)
      change = compareSettings(this.#o.current(), wanted)
      if (change.applied.length > 0) await this.#o.apply(change.config)
    } catch (error) {
      return this.#report({ problems: problemsOf(error) })
    }
    const { applied, needsRestart } = change
    return this.#report({ applied, needsRestart })
  }

  #report({ applied = [], needsRestart = [], problems = [] }: Partial<ReloadResult>): ReloadResult {
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
