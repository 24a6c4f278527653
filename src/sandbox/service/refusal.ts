import type { ConditionName } from '../../client/openapi/conditions.ts'

/**
 * A request that the service refuses. Thrown anywhere while it is answered, and sent with the status of its condition as an error whose body
 * is `{"detail": …}`.
 */
export class Refusal extends Error {
  readonly condition: ConditionName
  /** Text, the list of a validation error, or an object with a `code` and what belongs to it. */
  readonly detail: unknown
  readonly headers: Readonly<Record<string, string>>

  constructor(condition: ConditionName, detail: unknown, headers: Readonly<Record<string, string>> = {}) {
    super(typeof detail === 'string' ? detail : `refused: ${condition}`)
    this.condition = condition
    this.detail = detail
    this.headers = headers
  }
}
