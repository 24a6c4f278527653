/** The fix of a problem: an operation with its input, or a section of the runbook. */
export type Fix = { readonly operation: string; readonly input: Readonly<Record<string, string>> } | { readonly runbook: string }

/** Calls of an operation with an input, for each interface. */
export interface Call {
  readonly command: string
  /** Unset if not allowed for assistants. */
  readonly tool?: string
  /** Set with `path` and `body`. Undefined for operations that only read, or need a person's document. */
  readonly method?: 'POST' | 'PUT' | 'DELETE'
  readonly path?: string
  readonly body?: Readonly<Record<string, string>> | null
}

export type ShownFix = (Extract<Fix, { operation: string }> & Call) | { readonly runbook: string }

export type ShowFix = (fix: Fix) => Promise<ShownFix>

export function fixText(fix: ShownFix): string {
  return 'command' in fix ? `\`${fix.command}\`` : `see ${fix.runbook}`
}
