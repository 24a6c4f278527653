/**
 * Every failure that the product raises itself says whether trying again can help.
 * Whatever else is thrown (a bug, a library's error) is treated as permanent for the one thing it was thrown over.
 */
export abstract class ProductError extends Error {
  override readonly name: string = this.constructor.name
}

/** Trying again later can help. `retryAfterMs` is what the other side asked for, when it did. */
export class TransientError extends ProductError {
  readonly retryAfterMs: number | undefined
  constructor(message: string, options: ErrorOptions & { retryAfterMs?: number | undefined } = {}) {
    super(message, options)
    this.retryAfterMs = options.retryAfterMs
  }
}

/** Trying the same thing again cannot help; others go on. */
export class PermanentError extends ProductError {}

/** The process cannot go on; the message tells the operator what to do. */
export class FatalError extends ProductError {}

/** Wrong usage or configuration: one clear line per problem, all of them at once (exit code 2). */
export class UsageError extends ProductError {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** Not done because another run holds the lock (exit code 4). */
export class BusyError extends ProductError {}

/** What Node says in a word or two of a limit that the system sets this process, and what to do. */
const LIMITS: readonly (readonly [said: RegExp, mend: string])[] = [
  [/\bEMFILE\b|too many open files/, 'raise the limit of open files of this process (ulimit -n)'],
  [/^EAGAIN$/, 'the system gives this process no further thread; raise its limit (ulimit -u, or pids_limit of the container)'],
]

/** @returns the message of whatever was thrown, in one line that is never empty. It never throws itself. */
export function messageOf(error: unknown): string {
  const text = textOf(error).replace(/\s+/g, ' ').trim() || 'unknown error'
  const mend = LIMITS.find(([said]) => said.test(text))?.[1]
  return mend === undefined || text.includes(mend) ? text : `${text}; ${mend}`
}

function textOf(error: unknown): string {
  // A connection that was tried at several addresses fails with all their errors and no message of its own.
  if (error instanceof AggregateError && error.message === '') return [...new Set(error.errors.map(messageOf))].join('; ') || error.name
  if (error instanceof Error) return String(error.message || error.name)
  try {
    return String(error)
  } catch {
    return 'a thrown value that has no text'
  }
}
