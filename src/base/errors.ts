/**
 * Base class of the product's errors. Each subclass states whether a retry can help.
 * Treat any other error as permanent for the item that caused the error.
 */
export abstract class ProductError extends Error {
  override readonly name: string = this.constructor.name
}

/** A retry can help. `retryAfterMs`: the delay that the other side requested, in milliseconds. */
export class TransientError extends ProductError {
  readonly retryAfterMs: number | undefined
  constructor(message: string, options: ErrorOptions & { retryAfterMs?: number | undefined } = {}) {
    super(message, options)
    this.retryAfterMs = options.retryAfterMs
  }
}

/** @returns the delay that the other side requested, in milliseconds; 0 if no delay was requested. */
export function retryAfterOf(error: unknown): number {
  return error instanceof TransientError ? (error.retryAfterMs ?? 0) : 0
}

/** Another transaction changed the same rows. An immediate retry reads the new rows. */
export class ConcurrentWriteError extends TransientError {}

/** A retry can't help for this item. Other work continues. */
export class PermanentError extends ProductError {}

/** Another process took over this claimed work before its outcome was stored. The transaction rolls back. */
export class LeaseLostError extends PermanentError {
  constructor(what: string) {
    super(`${what}: the lease was lost; another process does this work now`)
  }
}

/** The process can't continue and must end. The message says what to do. */
export class FatalError extends ProductError {}

/** Wrong usage or configuration. The exit code is 2. `problems` has one line for each problem. */
export class UsageError extends ProductError {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/**
 * The work was not done, because another run holds the lock or the service requested too long a pause. The exit
 * code is 4.
 */
export class BusyError extends ProductError {}

/** Patterns of Node's messages for exceeded system limits, and a fix for each. */
const LIMITS: readonly (readonly [pattern: RegExp, fix: string])[] = [
  [/\bEMFILE\b|too many open files/, 'raise the limit of open files of this process (ulimit -n)'],
  [/^EAGAIN$/, 'this process cannot start another thread; raise its limit (ulimit -u, or pids_limit of the container)'],
]

/** @returns the message of any thrown value, as one non-empty line. Never throws. */
export function messageOf(error: unknown): string {
  const text = textOf(error).replace(/\s+/g, ' ').trim() || 'unknown error'
  const fix = LIMITS.find(([pattern]) => pattern.test(text))?.[1]
  return fix === undefined || text.includes(fix) ? text : `${text}; ${fix}`
}

function textOf(error: unknown): string {
  // If a connection fails at all addresses of a host, Node's AggregateError has no message, only an error
  // for each address.
  if (error instanceof AggregateError && error.message === '') return [...new Set(error.errors.map(messageOf))].join('; ') || error.name
  if (error instanceof Error) return String(error.message || error.name)
  try {
    return String(error)
  } catch {
    return 'a thrown value without a text'
  }
}

/** @returns the code of a system error, such as ENOSPC; '' for other errors. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
