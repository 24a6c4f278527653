import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ApiError } from '../api/client.ts'

const ROWS = ['a', 'b', 'c', 'd', 'e', 'f']

/** Placeholder rows while data loads. The style sheet shows them only after a delay. */
export function Loading({ rows = 6 }: { readonly rows?: number }) {
  return (
    <div className="loading stack" aria-busy="true">
      <span className="unseen">Loading</span>
      {ROWS.slice(0, rows).map((key) => (
        <span key={key} className="bone" />
      ))}
    </div>
  )
}

export function Empty({ children }: { readonly children: ReactNode }) {
  return <p className="empty quiet">{children}</p>
}

export function Failed({ error, onRetry }: { readonly error: Error; readonly onRetry?: () => void }) {
  const isRefused = error instanceof ApiError && error.status === 403
  return (
    <div className="failed split" role="alert">
      <p className="stack">
        <strong>{isRefused ? "Your role doesn't allow this" : 'Loading failed'}</strong>
        <span>{error.message}</span>
        {!isRefused && <span className="quiet">Stored data is safe.</span>}
      </p>
      {!isRefused && onRetry && (
        <button type="button" className="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Shown instead of a missing value. */
export const DASH = <span className="quiet">–</span>

interface QueryStateProps<T> {
  readonly query: UseQueryResult<T>
  readonly rows?: number
  readonly children: (data: T) => ReactNode
}

/**
 * Shows the data of a query. Before the first data, shows that the query is loading or has failed. If a later fetch
 * fails, the earlier data stays.
 */
export function QueryState<T>({ query, rows = 6, children }: QueryStateProps<T>) {
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error) return <Failed error={query.error} onRetry={() => void query.refetch()} />
  return <Loading rows={rows} />
}
