import { UsageError } from '../../base/errors.ts'

/** Data that programs need after a refusal. The text repeats it. */
export interface RefusalFacts {
  /** Oldest stored change number. */
  readonly first_seq?: number
  /** The current log epoch, and the requested one. */
  readonly log_epoch?: string
  readonly epoch?: string
}

/** A refusal. The class determines the HTTP status. Commands exit with 2; tools answer with the text. */
export abstract class Refusal extends UsageError {
  abstract readonly status: 401 | 403 | 404 | 409 | 410 | 422 | 503
  readonly facts: RefusalFacts

  constructor(problems: readonly string[], facts: RefusalFacts = {}) {
    super(problems)
    this.facts = facts
  }
}

/** The token or session ended while the request was in progress. */
export class SignedOutError extends Refusal {
  readonly status = 401

  constructor() {
    super(['the token or session has ended; sign in again'])
  }
}

/** The caller's role is insufficient. */
export class RoleError extends Refusal {
  readonly status = 403
}

/** The object of the action doesn't exist. */
export class NotFoundError extends Refusal {
  readonly status = 404
}

/** The current state of the object doesn't allow the action. */
export class ConflictError extends Refusal {
  readonly status = 409
}

/** The object existed, but is no longer stored. */
export class GoneError extends Refusal {
  readonly status = 410
}

/** A well-formed request conflicts with the settings or with itself. */
export class MismatchError extends Refusal {
  readonly status = 422
}

/** A limit of the process is reached; retry later. */
export class CrowdedError extends Refusal {
  readonly status = 503
}
