import { messageOf, TransientError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Service } from '../base/service.ts'
import type { Config } from '../config/config.ts'
import { auditedReload, type ReloadResult } from '../ops/actions/reload.ts'
import { settingFingerprints } from '../ops/status/settings.ts'
import type { Db } from '../store/engine/db.ts'
import { askedReload, finishReload, storeSettings } from '../store/upkeep/process-settings.ts'

const LOOK_MS = 1_000

export interface ProcessSettingsOptions {
  readonly db: Db
  readonly log: Log
  readonly config: () => Config
  readonly reload: () => Promise<ReloadResult>
}

/**
 * Stores fingerprints of this process's settings, so that `doctor` can compare them with the current settings. Reloads
 * the settings when a command requests a reload.
 */
export class ProcessSettingsKeeper implements Service {
  readonly name = 'process-settings'
  readonly #o: ProcessSettingsOptions
  #stored: Config | null = null

  constructor(options: ProcessSettingsOptions) {
    this.#o = options
  }

  async run(signal: AbortSignal): Promise<void> {
    const { db, log } = this.#o
    while (!signal.aborted) {
      await this.#look().catch((error: unknown) => {
        if (!(error instanceof TransientError)) throw error
        log.debug({ err: error }, `commands cannot request a reload now: ${messageOf(error)}`)
      })
      await db.clock.sleep(LOOK_MS, signal)
    }
  }

  async #look(): Promise<void> {
    const { db, reload } = this.#o
    await this.#store()
    const asked = await askedReload(db.read, db.processId)
    if (asked === null) return
    const result = await auditedReload(db, 'command', reload)
    await this.#store()
    await finishReload(db, asked, JSON.stringify(result))
  }

  async #store(): Promise<void> {
    const { db } = this.#o
    const config = this.#o.config()
    if (config === this.#stored) return
    await storeSettings(db, settingFingerprints(config, db.processId))
    this.#stored = config
  }
}
