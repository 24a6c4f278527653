import { UsageError } from '../../base/errors.ts'

/** What a program needs to go on after a refusal. The sentences say it too. */
export interface RefusalFacts {
  /** The first number that the change log still has. */
  readonly first_seq?: number
  /** The current log epoch, and the one that was asked about. */
  readonly log_epoch?: string
  readonly epoch?: string
}

/** A refusal. Its class says the HTTP status; a command exits with 2, as for any wrong usage, and a tool answers with its sentences. */
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

/** Whoever asks may not have this. */
export class RoleError extends Refusal {
  readonly status = 403
}

/** What the action is about is not there. */
export class NotFoundError extends Refusal {
  readonly status = 404
}

/** It is there, but as it is now this cannot be done to it. */
export class ConflictError extends Refusal {
  readonly status = 409
}

/** It was there, and is no longer kept. */
export class GoneError extends Refusal {
  readonly status = 410
}

/** What was asked for is well formed but does not fit the settings, or each other. */
export class MismatchError extends Refusal {
  readonly status = 422
}

/** As many do this already as one process allows; it goes later. */
export class CrowdedError extends Refusal {
  readonly status = 503
}
