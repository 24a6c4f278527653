import type { Failure } from '../contract/outcomes.ts'

/** The headers of a request that prove who sends it, or why there are none. */
export type AuthHeaders = { readonly headers: Readonly<Record<string, string>> } | { readonly failure: Failure }

/** Authentication of a destination's requests. */
export interface Auth {
  /** Never rejects. @param timeoutMs how long to wait for a token that has to be requested first. */
  headers(timeoutMs: number, signal: AbortSignal): Promise<AuthHeaders>
  /**
   * The target refused `headers` with 401.
   * @returns whether other headers can be had, so that another attempt makes sense.
   */
  renew(headers: Readonly<Record<string, string>>): boolean
}

/** @returns the `authorization` header of HTTP Basic. Nothing is escaped, as nearly every server expects. */
export function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`
}
