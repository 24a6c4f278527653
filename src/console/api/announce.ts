import { useSyncExternalStore } from 'react'

/** What came of an action, for the live region. */
export interface Said {
  readonly text: string
  readonly isRefusal: boolean
  /** Tells two sayings of the same words apart. */
  readonly turn: number
}

let said: Said | null = null
let turn = 0
const listeners = new Set<() => void>()

function set(next: Said | null): void {
  said = next
  for (const listener of listeners) listener()
}

/** Says what was done, and where to look. */
export function announce(text: string): void {
  set({ text, isRefusal: false, turn: ++turn })
}

/** Says why something was not done. */
export function announceRefusal(text: string): void {
  set({ text, isRefusal: true, turn: ++turn })
}

export function silence(): void {
  set(null)
}

export function useSaid(): Said | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => said,
  )
}
