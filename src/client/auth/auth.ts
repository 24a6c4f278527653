import type { Wire } from '../http/wire.ts'

/** Gives access tokens. One object serves one client. */
export interface Auth {
  /**
   * @returns a token that holds for now; those who ask at once get the same.
   * @throws ServiceError when the service refuses to give one; LoginNeeded when a person has to log in.
   */
  token(wire: Wire, signal?: AbortSignal): Promise<string>
  /** Notes that the service refused a token. @returns whether another can be had. */
  refused(token: string): boolean
}

/** A token that somebody else looks after. */
export function bearer(text: string): Auth {
  return { token: () => Promise.resolve(text), refused: () => false }
}
