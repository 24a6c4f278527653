/** How to fix a problem: call an operation with this input, or follow a section of the runbook. */
export type Fix = { readonly operation: string; readonly input: Readonly<Record<string, string>> } | { readonly runbook: string }

/** How to call an operation with its input: as a command, as a tool of an assistant, and over HTTP. */
export interface Call {
  readonly command: string
  /** Undefined if assistants may not call the operation. */
  readonly tool?: string
  /** Set together with `path` and `body`. Undefined if the operation only reads, or needs a document from a person. */
  readonly method?: 'POST' | 'PUT' | 'DELETE'
  readonly path?: string
  readonly body?: Readonly<Record<string, string>> | null
}

export type ShownFix = (Extract<Fix, { operation: string }> & Call) | { readonly runbook: string }

export type ShowFix = (fix: Fix) => Promise<ShownFix>

export function fixText(fix: ShownFix): string {
  return 'command' in fix ? `\`${fix.command}\`` : `see ${fix.runbook}`
}
