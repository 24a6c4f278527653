/**
 * Base class of the product's errors. The subclass states whether a retry can help. Any other error is permanent for the item that caused
 * it.
 */
export abstract class ProductError extends Error {
  override readonly name: string = this.constructor.name
}

/** A retry can help. `retryAfterMs`: delay that the other side requested, if any. */
export class TransientError extends ProductError {
  readonly retryAfterMs: number | undefined
  constructor(message: string, options: ErrorOptions & { retryAfterMs?: number | undefined } = {}) {
    super(message, options)
    this.retryAfterMs = options.retryAfterMs
  }
}

/** @returns the delay that the other side requested, in milliseconds; 0 if none. */
export function retryAfterOf(error: unknown): number {
  return error instanceof TransientError ? (error.retryAfterMs ?? 0) : 0
}

/** Another transaction wrote the same rows. An immediate retry reads the new rows. */
export class ConcurrentWriteError extends TransientError {}

/** A retry cannot help; other work continues. */
export class PermanentError extends ProductError {}

/** Another process took over claimed work before it was settled. The whole transaction rolls back. */
export class LeaseLostError extends PermanentError {
  constructor(what: string) {
    super(`${what}: the lease was lost, another process does this work now`)
  }
}

/** The process cannot continue. The message says what to do. */
export class FatalError extends ProductError {}

/** Wrong usage or configuration. Reports all problems, one line each (exit code 2). */
export class UsageError extends ProductError {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** Not done: another run holds the lock, or the service requested too long a pause (exit code 4). */
export class BusyError extends ProductError {}

/** Node's messages for system limits, and a fix for each. */
const LIMITS: readonly (readonly [pattern: RegExp, fix: string])[] = [
  [/\bEMFILE\b|too many open files/, 'raise the limit of open files of this process (ulimit -n)'],
  [/^EAGAIN$/, 'this process cannot start another thread; raise its limit (ulimit -u, or pids_limit of the container)'],
]

/** @returns the message of any thrown value, in one non-empty line. Never throws. */
export function messageOf(error: unknown): string {
  const text = textOf(error).replace(/\s+/g, ' ').trim() || 'unknown error'
  const fix = LIMITS.find(([pattern]) => pattern.test(text))?.[1]
  return fix === undefined || text.includes(fix) ? text : `${text}; ${fix}`
}

function textOf(error: unknown): string {
  // If all addresses of a host fail, the error has no message, only an error per address.
  if (error instanceof AggregateError && error.message === '') return [...new Set(error.errors.map(messageOf))].join('; ') || error.name
  if (error instanceof Error) return String(error.message || error.name)
  try {
    return String(error)
  } catch {
    return 'a thrown value without a text'
  }
}

/** @returns a system error's code, such as ENOSPC; '' for other errors. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
