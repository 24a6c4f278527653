import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Refusal } from '../api/client.ts'

const ROWS = ['a', 'b', 'c', 'd', 'e', 'f']

/** The shape of what comes; it shows only when that takes a moment. */
export function Loading({ rows = 6 }: { readonly rows?: number }) {
  return (
    <div className="loading" aria-busy="true">
      <span className="unseen">Loading</span>
      {ROWS.slice(0, rows).map((key) => (
        <span key={key} className="bone" />
      ))}
    </div>
  )
}

/** Why there is nothing, and the one thing to do. */
export function Empty({ children }: { readonly children: ReactNode }) {
  return <p className="empty">{children}</p>
}

/** What failed, whether data is safe, and a way to try again. */
export function Failed({ error, onRetry }: { readonly error: Error; readonly onRetry?: () => void }) {
  const isRefused = error instanceof Refusal && error.status === 403
  return (
    <div className="failed" role="alert">
      <p>
        <strong>{isRefused ? 'Not for your role' : 'This could not be shown'}</strong>
        <span>{error.message}</span>
        {!isRefused && <span className="quiet">What the mirror has stored is safe.</span>}
      </p>
      {!isRefused && onRetry && (
        <button type="button" className="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

interface AskedProps<T> {
  readonly query: UseQueryResult<T>
  readonly rows?: number
  readonly children: (data: T) => ReactNode
}

/** What a query gives, or the state that it is in. What was shown before stays while it is asked for again in vain. */
export function Asked<T>({ query, rows = 6, children }: AskedProps<T>) {
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error) return <Failed error={query.error} onRetry={() => void query.refetch()} />
  return <Loading rows={rows} />
}
