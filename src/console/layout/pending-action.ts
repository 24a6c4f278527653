import { useEffect, useRef, useSyncExternalStore } from 'react'

/** What somebody named elsewhere, and the page that can do it has not done yet. */
export type Wish = 'doctor' | 'backup'

let wished: Wish | null = null
const listeners = new Set<() => void>()

function set(next: Wish | null): void {
  wished = next
  for (const listener of listeners) listener()
}

/** Has something done as soon as the page that can do it is there. */
export function wish(what: Wish): void {
  set(what)
}

/** Does what was wished for, once. */
export function useWish(what: Wish, deed: () => void): void {
  const latest = useRef(deed)
  latest.current = deed
  const isWished = useSyncExternalStore(subscribe, () => wished === what)
  useEffect(() => {
    if (!isWished) return
    set(null)
    latest.current()
  }, [isWished])
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
