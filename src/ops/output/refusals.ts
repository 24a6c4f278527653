import { UsageError } from '../../base/errors.ts'

/** Values from the text of a refusal, as separate fields for programs. */
export interface RefusalFacts {
  /** Number of the oldest stored change. */
  readonly first_seq?: number
  /** `log_epoch`: the current log epoch. `epoch`: the log epoch that was requested. */
  readonly log_epoch?: string
  readonly epoch?: string
}

/**
 * Error for a refused request. The subclass determines the HTTP status.
 * A command exits with code 2. A tool of an assistant answers with the problems as text.
 */
export abstract class Refusal extends UsageError {
  abstract readonly status: 401 | 403 | 404 | 409 | 410 | 422 | 503
  readonly facts: RefusalFacts

  constructor(problems: readonly string[], facts: RefusalFacts = {}) {
    super(problems)
    this.facts = facts
  }
}

/** The token or session ended during the request. */
export class SignedOutError extends Refusal {
  readonly status = 401

  constructor() {
    super(['the token or session has ended; sign in again'])
  }
}

/** The role of the requester is insufficient. */
export class RoleError extends Refusal {
  readonly status = 403
}

/** The object does not exist. */
export class NotFoundError extends Refusal {
  readonly status = 404
}

/** The current state of the object does not allow the action. */
export class ConflictError extends Refusal {
  readonly status = 409
}

/** The object existed, but is no longer stored. */
export class GoneError extends Refusal {
  readonly status = 410
}

/** The request is well-formed, but conflicts with the settings or with itself. */
export class MismatchError extends Refusal {
  readonly status = 422
}

/** A limit of this process is reached. The client can try again later. */
export class CrowdedError extends Refusal {
  readonly status = 503
}
