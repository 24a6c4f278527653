/** An error of OAuth: its code, as in RFC 6749 and 8628. Thrown while a grant is checked. */
export class OAuthError extends Error {
  readonly code: string
  /** Headers of the answer. */
  readonly headers: Readonly<Record<string, string>>

  constructor(code: string, description: string, headers: Readonly<Record<string, string>> = {}) {
    super(description)
    this.code = code
    this.headers = headers
  }
}
