import type { Wire } from '../http/wire.ts'

/** Provides access tokens for one client. */
export interface Auth {
  /** @returns a valid token, the same for concurrent calls. @throws ServiceError if the service rejects the grant, LoginNeeded. */
  token(wire: Wire, signal?: AbortSignal): Promise<string>
  /** Records that the service rejected a token. @returns whether to retry with another token. */
  refused(token: string): boolean
}

/** A token that your code manages. */
export function bearer(text: string): Auth {
  return { token: () => Promise.resolve(text), refused: () => false }
}
