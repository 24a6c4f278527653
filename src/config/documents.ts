import type { Settings } from './schema/schema.ts'

/** What is done with documents of the service. */
export interface DocumentsConfig {
  /** Where their bytes are kept. A relative `dir` counts from the working folder. */
  readonly storage: { readonly kind: 'folder'; readonly dir: string }
}

/** @returns the settings of documents from the validated section of the settings file. */
export function documentsOf({ dir }: Settings['documents']): DocumentsConfig {
  return { storage: { kind: 'folder', dir } }
}
