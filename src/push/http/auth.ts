import type { Failure } from '../contract/outcomes.ts'

/** The header that a request bears, or why there is none. */
export type AuthHeaders = { readonly headers: Readonly<Record<string, string>> } | { readonly failure: Failure }

/** How a destination's requests say who they are from. */
export interface Auth {
  /** Never rejects. @param timeoutMs how long to wait for what has to be asked first. */
  headers(timeoutMs: number, signal: AbortSignal): Promise<AuthHeaders>
  /**
   * The target refused `headers` with 401.
   * @returns whether others can be had, so that trying again makes sense.
   */
  renew(headers: Readonly<Record<string, string>>): boolean
}
