/** A request that the service refuses. Thrown anywhere while it is answered, and sent as an error whose body is `{"detail": …}`. */
export class Refusal extends Error {
  readonly status: number
  /** Text, the list of a validation error, or an object with a `code` and what belongs to it. */
  readonly detail: unknown
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, detail: unknown, headers: Readonly<Record<string, string>> = {}) {
    super(typeof detail === 'string' ? detail : `refused with ${status}`)
    this.status = status
    this.detail = detail
    this.headers = headers
  }
}
