import { type ReactNode, useState } from 'react'

/** If the page is scrolled down by more than this many pixels, the list doesn't change. */
const FROZEN_FROM_PX = 160

/**
 * While the user reads further down in a list, keeps new rows out of the list.
 * @returns the rows to show, and a button that shows the new rows.
 */
export function useFrozenList<T>(
  rows: readonly T[],
  keyOf: (row: T) => string,
): { readonly shown: readonly T[]; readonly notice: ReactNode } {
  const [first, setFirst] = useState<string | null>(null)
  const newest = rows[0] ? keyOf(rows[0]) : null
  const isFrozen = typeof window !== 'undefined' && window.scrollY > FROZEN_FROM_PX
  if (!isFrozen && first !== newest) setFirst(newest)
  const at = isFrozen && first !== null ? rows.findIndex((row) => keyOf(row) === first) : 0
  const release = () => {
    window.scrollTo({ top: 0 })
    setFirst(newest)
  }
  if (at <= 0) return { shown: rows, notice: null }
  return {
    shown: rows.slice(at),
    notice: (
      <button type="button" className="button small new-rows" onClick={release}>
        Show {at} new {at === 1 ? 'row' : 'rows'}
      </button>
    ),
  }
}
