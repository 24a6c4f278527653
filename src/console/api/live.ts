import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { sessionQuery } from './queries.ts'

/** What is told of by events, and which of the things shown it is about. */
const about: Readonly<Record<string, readonly string[]>> = {
  delivery: ['deliveries', 'delivery'],
  change: ['submissions', 'submission', 'timeline', 'found'],
  push: ['outbox', 'destinations', 'timeline'],
  run: ['runs', 'run', 'findings'],
  alarm: ['alarms'],
  overview: ['overview', 'accounts', 'destinations'],
}

/** What is shown is asked for again at most so often, however much happens. */
const PACE_MS = 1_000
const AGAIN_MS = 15_000

let isOn = false
const listeners = new Set<() => void>()

function set(next: boolean): void {
  if (next === isOn) return
  isOn = next
  for (const listener of listeners) listener()
}

/** Whether events arrive; without them everything is asked for again at intervals. */
export function useIsLive(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => isOn,
  )
}

/** Listens to what happens for as long as the page is open, and has what is shown asked for again when it is about that. */
export function useLive(): void {
  const client = useQueryClient()
  useEffect(() => listen(client), [client])
}

function listen(client: QueryClient): () => void {
  const stale = new Set<string>()
  let source: EventSource | null = null
  let wasReset = false
  let pace: ReturnType<typeof setTimeout> | undefined
  let again: ReturnType<typeof setTimeout> | undefined
  const refresh = () => {
    pace = undefined
    const isAll = stale.has('')
    const keys = new Set(stale)
    stale.clear()
    void client.invalidateQueries({ predicate: ({ queryKey: [key] }) => key !== 'session' && (isAll || keys.has(String(key))) })
  }
  const note = (keys: readonly string[]) => {
    for (const key of keys) stale.add(key)
    pace ??= setTimeout(refresh, PACE_MS)
  }
  const connect = () => {
    source = new EventSource('/api/v1/live')
    source.addEventListener('open', () => set(true))
    source.addEventListener('error', () => {
      set(false)
      if (source?.readyState !== EventSource.CLOSED) return
      // Refused: perhaps the session has ended, which the next request shows.
      void client.invalidateQueries({ queryKey: sessionQuery.queryKey })
      again = setTimeout(connect, AGAIN_MS)
    })
    for (const [kind, keys] of Object.entries(about)) source.addEventListener(kind, () => note(keys))
    source.addEventListener('reset', () => {
      // The first comes while the page is new.
      if (wasReset) note([''])
      wasReset = true
    })
  }
  connect()
  return () => {
    source?.close()
    clearTimeout(pace)
    clearTimeout(again)
    set(false)
  }
}
