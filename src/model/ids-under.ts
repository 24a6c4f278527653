import { isObject } from './json.ts'
import { parseUuid } from './uuid.ts'

/** A value is searched this deep and for so many values. */
const MAX_DEPTH = 16
const MAX_VALUES = 1_000_000

/** Uuids by the key under which they stood, each once, in their order. */
export interface FoundIds {
  readonly ids: ReadonlyMap<string, readonly string[]>
  /** Whether all of the value was searched. */
  readonly whole: boolean
}

/**
 * Searches any JSON value for uuids that stand under one of `keys`, as text and at any depth. Of its shape nothing is assumed: a uuid
 * under another key may be the id of anything.
 */
export function idsUnder(value: unknown, keys: readonly string[]): FoundIds {
  const found = new Map(keys.map((key) => [key, new Set<string>()]))
  let left = MAX_VALUES
  let whole = true
  const look = (item: unknown, depth: number): void => {
    if (depth > MAX_DEPTH || left <= 0) {
      whole = false
      return
    }
    left -= 1
    if (Array.isArray(item)) {
      for (const each of item) look(each, depth + 1)
    } else if (isObject(item)) {
      for (const [key, each] of Object.entries(item)) {
        const id = parseUuid(each)
        if (id !== null) found.get(key)?.add(id)
        look(each, depth + 1)
      }
    }
  }
  look(value, 0)
  return { ids: new Map([...found].map(([key, ids]) => [key, [...ids]])), whole }
}
