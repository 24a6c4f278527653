import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { sessionQuery } from './queries.ts'
import type { paths } from './schema.d.ts'

/** What is told of by events, and the paths that answer otherwise then, with all below them. */
const about: Readonly<Record<string, readonly (keyof paths)[]>> = {
  delivery: ['/api/v1/inbox', '/api/v1/rejected'],
  change: ['/api/v1/submissions', '/api/v1/found-without-webhook'],
  push: ['/api/v1/outbox', '/api/v1/destinations', '/api/v1/submissions/{account}/{submission_id}/timeline'],
  run: ['/api/v1/reconcile-runs'],
  alarm: ['/api/v1/alarms'],
  overview: ['/api/v1/overview', '/api/v1/accounts', '/api/v1/destinations'],
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
    const places = [...stale]
    stale.clear()
    const isStale = (path: string) => places.some((place) => path === place || path.startsWith(`${place}/`))
    void client.invalidateQueries({
      predicate: ({ queryKey: [path] }) => path !== sessionQuery.queryKey[0] && isStale(String(path)),
    })
  }
  const note = (places: readonly string[]) => {
    for (const place of places) stale.add(place)
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
    for (const [kind, places] of Object.entries(about)) source.addEventListener(kind, () => note(places))
    source.addEventListener('reset', () => {
      // The first comes while the page is new.
      if (wasReset) note(['/api/v1'])
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
