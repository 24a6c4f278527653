import { useEffect, useRef } from 'react'
import { createStore, useStore } from '../api/store.ts'

/** An action chosen on one page and run on another. */
export type PendingAction = 'doctor' | 'backup'

const pending = createStore<PendingAction | null>(null)

/** Starts the action when its page is shown. */
export function startLater(action: PendingAction): void {
  pending.set(action)
}

export function usePendingAction(action: PendingAction, start: () => void): void {
  const latest = useRef(start)
  latest.current = start
  const isPending = useStore(pending) === action
  useEffect(() => {
    if (!isPending) return
    pending.set(null)
    latest.current()
  }, [isPending])
}
