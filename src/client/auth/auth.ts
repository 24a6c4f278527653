import type { Wire } from '../http/wire.ts'

/** Provides access tokens for one client. */
export interface Auth {
  /**
   * @returns a valid token. Concurrent calls get the same token.
   * @throws ServiceError if the service rejects the grant; LoginNeeded if a user must log in.
   */
  token(wire: Wire, signal?: AbortSignal): Promise<string>
  /**
   * Called when the service rejected a token.
   * @returns whether to retry the request with another token.
   */
  refused(token: string): boolean
}

/** Uses a token that your code manages. The client never renews it. */
export function bearer(text: string): Auth {
  return { token: () => Promise.resolve(text), refused: () => false }
}
