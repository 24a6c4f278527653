/** What is done about a matter: an operation by its name, with its input; or what a section of the runbook says. */
export type Mend = { readonly operation: string; readonly input: Readonly<Record<string, string>> } | { readonly runbook: string }

/** How an operation is called with an input, from each interface. */
export interface Call {
  readonly command: string
  /** Left out where assistants are not offered it. */
  readonly tool?: string
  /** With `path` and `body`; left out where looking is all that it does, or where a person has to write a document first. */
  readonly method?: 'POST' | 'PUT' | 'DELETE'
  readonly path?: string
  /** null: there is none. */
  readonly body?: Readonly<Record<string, string>> | null
}

/** A mend as people and programs are told it. */
export type ShownMend = (Extract<Mend, { operation: string }> & Call) | { readonly runbook: string }

/** Finds out by its declaration how an operation is called. */
export type ShowMend = (mend: Mend) => Promise<ShownMend>

/** The mend in a sentence. */
export function mendText(mend: ShownMend): string {
  return 'command' in mend ? `\`${mend.command}\`` : `see ${mend.runbook}`
}
