import type { Matter } from './verdict.ts'

/** A request to an admin route that mends a matter. */
export interface MendRequest {
  readonly method: 'POST'
  readonly path: string
  /** null: the route takes no body. */
  readonly body: Readonly<Record<string, string>> | null
}

/** @returns the request that mends a matter; null where only a person can. */
export function mendRequestOf({ kind, count, account, destination }: Matter): MendRequest | null {
  const post = (path: string, body: MendRequest['body'] = null): MendRequest => ({ method: 'POST', path: `/api/v1${path}`, body })
  if (account !== null) {
    if (kind === 'account_stopped') return post(`/accounts/${encodeURIComponent(account)}/resume`)
    if (kind === 'dead_deliveries') return post('/inbox/replay', { state: 'dead', account })
    // A run that could not check everything says itself why; another one would not check more.
    if (kind === 'run_not_clean' && count > 0) return post('/reconcile-runs', { account })
  }
  if (destination !== null) {
    if (kind === 'destination_stopped' || kind === 'destination_unanswered')
      return post(`/destinations/${encodeURIComponent(destination)}/resume`)
    if (kind === 'dead_changes') return post('/outbox/retry', { state: 'dead', destination })
  }
  return null
}
