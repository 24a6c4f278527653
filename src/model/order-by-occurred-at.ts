import type { Entity, Row } from './entity.ts'

/** Sorts rows by `occurred_at`. Rows with equal times, and rows of tables without this column, keep their order. */
export function orderByOccurredAt<T>(entity: Entity, items: readonly T[], rowOf: (item: T) => Row): readonly T[] {
  if (items.length < 2 || !('occurred_at' in entity.columns)) return items
  const at = (item: T) => String(rowOf(item)['occurred_at'] ?? '')
  return items.toSorted((a, b) => (at(a) < at(b) ? -1 : at(a) > at(b) ? 1 : 0))
}
