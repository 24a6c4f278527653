import { listNames } from './list-names.ts'

/** Limits of a misspelling: the number of changed letters, and their share of the longer word. */
const MOST_CHANGED = 3
const MOST_OF_WORD = 0.6

/**
 * @returns the names that `word` may be a misspelling of: the names with the fewest changed letters, within the limits.
 */
export function nearNames(word: string, names: readonly string[]): string[] {
  const near = [...new Set(names)].map((name) => ({ name, changed: editDistance(word, name) }))
  const least = Math.min(MOST_CHANGED, ...near.map(({ changed }) => changed))
  const isNear = ({ name, changed }: { name: string; changed: number }) =>
    changed === least && changed < Math.max(word.length, name.length) * MOST_OF_WORD
  return near.filter(isNear).map(({ name }) => name)
}

/** @returns `did you mean acme?` if a name is similar; otherwise the text of `listNames`. */
export function meantOrListed(word: string, names: readonly string[], none?: string): string {
  const near = nearNames(word, names)
  return near.length > 0 ? `did you mean ${near.join(' or ')}?` : listNames(names, none)
}

/** @returns the name in `known` with the fewest changed letters. `known` must not be empty. */
export function nearest(word: string, known: readonly string[]): string {
  const start = word.slice(0, 64)
  const byDistance = known.map((name) => ({ name, changed: editDistance(start, name) })).sort((a, b) => a.changed - b.changed)
  return byDistance[0]?.name ?? ''
}

/**
 * @returns the number of edits that turn `from` into `to`. An edit changes, adds, or removes a letter, or swaps
 * two neighboring letters.
 */
export function editDistance(from: string, to: string): number {
  let before: readonly number[] = []
  let row: readonly number[] = [...Array(to.length + 1).keys()]
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < to.length; j++) {
      const [diagonal = 0, above = 0] = row.slice(j)
      const isSwapped = i > 0 && j > 0 && from[i] === to[j - 1] && from[i - 1] === to[j]
      const swapped = isSwapped ? (before[j - 1] ?? 0) + 1 : Number.POSITIVE_INFINITY
      next.push(Math.min(above + 1, (next[j] ?? 0) + 1, diagonal + (from[i] === to[j] ? 0 : 1), swapped))
    }
    before = row
    row = next
  }
  return row.at(-1) ?? 0
}
