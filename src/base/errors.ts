/**
 * Base of all errors raised by the product; the subclass says whether trying again can help. Any other error (a bug, a library's) counts as
 * permanent for the one thing that caused it.
 */
export abstract class ProductError extends Error {
  override readonly name: string = this.constructor.name
}

/** Trying again later can help. `retryAfterMs` is the delay that the other side asked for, if it did. */
export class TransientError extends ProductError {
  readonly retryAfterMs: number | undefined
  constructor(message: string, options: ErrorOptions & { retryAfterMs?: number | undefined } = {}) {
    super(message, options)
    this.retryAfterMs = options.retryAfterMs
  }
}

/** @returns the delay that the other side asked for, in milliseconds; 0 when it asked for none. */
export function retryAfterOf(error: unknown): number {
  return error instanceof TransientError ? (error.retryAfterMs ?? 0) : 0
}

/** The transaction met another that wrote the same at that moment. Run again at once, it finds what that one wrote. */
export class ConcurrentWriteError extends TransientError {}

/** Trying again cannot help; other work goes on. */
export class PermanentError extends ProductError {}

/** Another process took over claimed work before it was settled. The whole transaction rolls back (invariant 14); the new holder does the work. */
export class LeaseLostError extends PermanentError {
  constructor(what: string) {
    super(`${what}: the lease was lost, another process does this work now`)
  }
}

/** The process cannot go on. The message tells the operator what to do. */
export class FatalError extends ProductError {}

/** Wrong usage or configuration: one clear line per problem, all at once (exit code 2). */
export class UsageError extends ProductError {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** Not done because another run holds the lock, or the service asked for a pause that is too long to wait for (exit code 4). */
export class BusyError extends ProductError {}

/** Node's terse texts for limits set by the system, and what to do about each. */
const LIMITS: readonly (readonly [pattern: RegExp, fix: string])[] = [
  [/\bEMFILE\b|too many open files/, 'raise the limit of open files of this process (ulimit -n)'],
  [/^EAGAIN$/, 'the system gives this process no further thread; raise its limit (ulimit -u, or pids_limit of the container)'],
]

/** @returns the message of whatever was thrown, in one non-empty line. Never throws. */
export function messageOf(error: unknown): string {
  const text = textOf(error).replace(/\s+/g, ' ').trim() || 'unknown error'
  const fix = LIMITS.find(([pattern]) => pattern.test(text))?.[1]
  return fix === undefined || text.includes(fix) ? text : `${text}; ${fix}`
}

function textOf(error: unknown): string {
  // A connection attempted at several addresses fails with all their errors and no message of its own.
  if (error instanceof AggregateError && error.message === '') return [...new Set(error.errors.map(messageOf))].join('; ') || error.name
  if (error instanceof Error) return String(error.message || error.name)
  try {
    return String(error)
  } catch {
    return 'a thrown value that has no text'
  }
}

/** @returns the code of a system error, such as ENOSPC; empty for any other. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
