import { useEffect, useRef } from 'react'
import { createStore, useStore } from '../api/store.ts'

/** An action that the user chooses on any page, and that runs on its own page. */
export type PendingAction = 'doctor' | 'backup'

const pending = createStore<PendingAction | null>(null)

/** Runs the action when its page is shown. */
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
