import { UsageError } from '../../base/errors.ts'

/** What the action is about is not there. */
export class NotFoundError extends UsageError {}

/** It is there, but as it is now this cannot be done to it. */
export class ConflictError extends UsageError {}

/** What was asked for is well formed but does not fit the settings, or each other. */
export class MismatchError extends UsageError {}
