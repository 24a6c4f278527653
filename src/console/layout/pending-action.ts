import { useEffect, useRef, useSyncExternalStore } from 'react'

/** An action that was chosen on another page than the one that carries it out. */
export type PendingAction = 'doctor' | 'backup'

let pending: PendingAction | null = null
const listeners = new Set<() => void>()

function set(next: PendingAction | null): void {
  pending = next
  for (const listener of listeners) listener()
}

/** Has an action started as soon as the page that carries it out is shown. */
export function startLater(action: PendingAction): void {
  set(action)
}

/** Starts the action, once, if it was chosen elsewhere. */
export function usePendingAction(action: PendingAction, start: () => void): void {
  const latest = useRef(start)
  latest.current = start
  const isPending = useSyncExternalStore(subscribe, () => pending === action)
  useEffect(() => {
    if (!isPending) return
    set(null)
    latest.current()
  }, [isPending])
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
