/** A fault for a copy of the product's source: texts of one file, each found there once. */
export interface Plant {
  /** Below `src/`. */
  readonly file: string
  readonly edits: readonly (readonly [find: string, put: string])[]
}

/** A plant that tests must find. */
export interface SoughtPlant extends Plant {
  /** Test files below `test/`; at least one must fail by an assertion. */
  readonly foundBy: readonly string[]
}

export type Plants<P extends Plant = SoughtPlant> = Readonly<Record<string, P>>

/** @returns the source with the fault. @throws Error naming the text that does not stand there exactly once. */
export function planted({ file, edits }: Plant, source: string): string {
  return edits.reduce((text, [find, put]) => {
    if (text.split(find).length !== 2) throw new Error(`${file} has no single place of: ${find}`)
    return text.replace(find, () => put)
  }, source)
}
