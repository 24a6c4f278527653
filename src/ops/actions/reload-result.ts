/** What became of a reload of the settings. No text in it holds a secret. */
export interface ReloadResult {
  /** What works by other settings from now on, one sentence each; empty when nothing was different, or there are problems. */
  readonly applied: readonly string[]
  /** The names of settings that differ and stay as they were until the process is started again. */
  readonly needsRestart: readonly string[]
  /** Why nothing was changed, one sentence each; empty when the settings are good. */
  readonly problems: readonly string[]
}
