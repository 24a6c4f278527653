import { isObject } from './json.ts'
import { parseUuid } from './uuid.ts'

const MAX_DEPTH = 16
const MAX_VALUES = 1_000_000

/** Distinct UUIDs for each key, in the order found. */
export interface FoundIds {
  readonly ids: ReadonlyMap<string, readonly string[]>
  /** False if the search stopped at a limit. */
  readonly isComplete: boolean
}

/**
 * Searches a JSON value of any shape for UUIDs under one of `keys`. Ignores UUIDs under other keys, which
 * may identify anything.
 */
export function idsUnder(value: unknown, keys: readonly string[]): FoundIds {
  const found = new Map(keys.map((key) => [key, new Set<string>()]))
  let remaining = MAX_VALUES
  let isComplete = true
  const search = (item: unknown, depth: number): void => {
    if (depth > MAX_DEPTH || remaining <= 0) {
      isComplete = false
      return
    }
    remaining -= 1
    if (Array.isArray(item)) {
      for (const each of item) search(each, depth + 1)
    } else if (isObject(item)) {
      for (const [key, each] of Object.entries(item)) {
        const id = parseUuid(each)
        if (id !== null) found.get(key)?.add(id)
        search(each, depth + 1)
      }
    }
  }
  search(value, 0)
  return { ids: new Map([...found].map(([key, ids]) => [key, [...ids]])), isComplete }
}

/**
 * @param answer a list of objects, or an object with such lists. Deeper objects are ignored.
 * @returns the distinct UUIDs in the field `field` of the listed objects.
 */
export function idsOfItems(answer: unknown, field: string): string[] {
  const lists = isObject(answer) ? Object.values(answer) : [answer]
  const items = lists.flatMap((list) => (Array.isArray(list) ? list.filter(isObject) : []))
  return [...new Set(items.flatMap((item) => parseUuid(item[field]) ?? []))]
}
