import { UsageError } from '../../base/errors.ts'

/** Data that a program needs after a refusal. The sentences also contain it. */
export interface RefusalFacts {
  /** The first number in the change log. */
  readonly first_seq?: number
  /** The current log epoch, and the requested one. */
  readonly log_epoch?: string
  readonly epoch?: string
}

/** A refusal. Its class determines the HTTP status; commands exit with 2, and tools answer with its sentences. */
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

/** The caller's role doesn't allow this. */
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

/** A well-formed request doesn't fit the settings, or its parts don't fit together. */
export class MismatchError extends Refusal {
  readonly status = 422
}

/** The process allows no more of these at a time; retry later. */
export class CrowdedError extends Refusal {
  readonly status = 503
}
