/** @returns the name in `known` (not empty) with the smallest edit distance to `name`. */
export function nearest(name: string, known: readonly string[]): string {
  const start = name.slice(0, 64)
  const byDistance = known.map((other) => ({ other, distance: distance(start, other) })).sort((a, b) => a.distance - b.distance)
  return byDistance[0]?.other ?? ''
}

/** Levenshtein distance. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
