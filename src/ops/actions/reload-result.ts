/** The outcome of a reload of the settings, without secrets. */
export interface ReloadResult {
  /** What changed, one sentence each; empty when nothing differs, or there are problems. */
  readonly applied: readonly string[]
  /** Names of changed settings that take effect only after a restart. */
  readonly needsRestart: readonly string[]
  /** Why nothing changed, one sentence each; empty when the settings are valid. */
  readonly problems: readonly string[]
}
