import { words } from './schema/pieces.ts'
import { nameInFile } from './sources/file.ts'
import { nearest } from './sources/names.ts'
import { field, list } from './sources/reading.ts'

/** What the filters of a destination may name. The settings know nothing of the mirror: who loads them does. */
export interface KnownNames {
  /** Public tables. */
  readonly entities: readonly string[]
  readonly operations: readonly string[]
  /** `<table>.<column>` of personal data. */
  readonly personalFields: readonly string[]
}

/** @returns a problem for each name in the filters of `destinations`, as they stand in the settings, that is not known. */
export function unknownNames(destinations: unknown, known: KnownNames | undefined): string[] {
  if (known === undefined) return []
  return list(destinations).flatMap((destination, index) => [
    ...unknownIn(destination, index, 'entities', known.entities, 'public table'),
    ...unknownIn(destination, index, 'operations', known.operations, 'operation'),
    ...unknownIn(destination, index, 'personal_fields', known.personalFields, 'personal column'),
  ])
}

function unknownIn(destination: unknown, index: number, key: string, known: readonly string[], what: string): string[] {
  const value = field(destination, key)
  const names = typeof value === 'string' ? words(value) : value
  if (!Array.isArray(names)) return []
  return names.flatMap((name: unknown, position) => {
    if (typeof name !== 'string' || known.includes(name)) return []
    return [`${nameInFile(['destinations', index, key, position])} is no ${what}; the nearest one is ${nearest(name, known)}`]
  })
}
