import { useSyncExternalStore } from 'react'

/** Whether the program answers, as the last request showed. */
export interface Connection {
  /** When it last answered; null before its first answer. */
  readonly answeredAt: number | null
  readonly isLost: boolean
}

let connection: Connection = { answeredAt: null, isLost: false }
const listeners = new Set<() => void>()

function set(next: Connection): void {
  const isSeen = next.isLost !== connection.isLost
  connection = next
  // Each answer moves the time, which is shown only while the connection is lost.
  if (isSeen) for (const listener of listeners) listener()
}

/** A database that does not answer is as good as no answer: what is shown may be old. */
export function noteAnswer(status: number): void {
  if (status >= 502 && status <= 504) noteSilence()
  else set({ answeredAt: Date.now(), isLost: false })
}

export function noteSilence(): void {
  set({ ...connection, isLost: true })
}

export function useConnection(): Connection {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => connection,
  )
}
