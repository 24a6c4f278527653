import { nearest } from '../base/near-names.ts'
import { words } from './schema/builders.ts'
import { field, list } from './schema/reading.ts'
import { nameInFile } from './sources/file.ts'

/** Names that destination filters may use. Passed in by the caller, because `config/` does not know the mirror's tables. */
export interface KnownNames {
  /** Public tables. */
  readonly entities: readonly string[]
  readonly operations: readonly string[]
  /** `<table>.<column>` of personal data. */
  readonly personalFields: readonly string[]
}

/** @param destinations the unchecked list of destinations. @returns one problem for each unknown name in their filters. */
export function unknownNames(destinations: unknown, known: KnownNames | undefined): string[] {
  if (known === undefined) return []
  return list(destinations).flatMap((destination, index) => [
    ...unknownIn(destination, index, 'entities', known.entities, 'a public table'),
    ...unknownIn(destination, index, 'operations', known.operations, 'an operation'),
    ...unknownIn(destination, index, 'personal_fields', known.personalFields, 'a personal column'),
  ])
}

function unknownIn(destination: unknown, index: number, key: string, known: readonly string[], what: string): string[] {
  const value = field(destination, key)
  const names = typeof value === 'string' ? words(value) : value
  if (!Array.isArray(names)) return []
  return names.flatMap((name: unknown, position) => {
    if (typeof name !== 'string' || known.includes(name)) return []
    return [`${nameInFile(['destinations', index, key, position])} is not ${what}; the nearest one is ${nearest(name, known)}`]
  })
}
