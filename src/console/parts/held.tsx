import { type ReactNode, useState } from 'react'

/** Below this one reads on in a list, and it does not move. */
const READING_PX = 160

/**
 * A list whose newest rows come first, held still while one reads further down.
 * @returns what to show, and a notice of how many new ones wait.
 */
export function useHeld<T>(rows: readonly T[], keyOf: (row: T) => string): { readonly shown: readonly T[]; readonly notice: ReactNode } {
  const [first, setFirst] = useState<string | null>(null)
  const newest = rows[0] ? keyOf(rows[0]) : null
  const isReading = typeof window !== 'undefined' && window.scrollY > READING_PX
  if (!isReading && first !== newest) setFirst(newest)
  const at = isReading && first !== null ? rows.findIndex((row) => keyOf(row) === first) : 0
  const release = () => {
    window.scrollTo({ top: 0 })
    setFirst(newest)
  }
  if (at <= 0) return { shown: rows, notice: null }
  return {
    shown: rows.slice(at),
    notice: (
      <button type="button" className="button small new-rows" onClick={release}>
        {at} new
      </button>
    ),
  }
}
