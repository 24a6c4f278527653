import type { Clock } from './clock.ts'

/**
 * Waits for `work`. If `signal` aborts first, stops waiting, but `work` itself continues.
 * @throws the error of `work`, or the abort reason of `signal`.
 */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work
  const aborted = Promise.withResolvers<never>()
  const leave = () => aborted.reject(signal.reason)
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([aborted.promise, work])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/**
 * Runs `work` with a signal that aborts when `signal` aborts, or after `ms` milliseconds.
 * @param late abort reason after the timeout.
 */
export async function withTimeout<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
  late?: Error,
): Promise<T> {
  const timeout = new AbortController()
  const cancel = clock.after(ms, () => timeout.abort(late))
  try {
    return await work(AbortSignal.any([signal, timeout.signal]))
  } finally {
    cancel()
  }
}

/**
 * Waits up to `ms` milliseconds for `work`, and doesn't stop `work` afterward.
 * @returns true if `work` resolved or rejected in that time.
 */
export async function endsWithin(clock: Pick<Clock, 'after'>, ms: number, work: Promise<unknown>): Promise<boolean> {
  const over = Promise.withResolvers<boolean>()
  const cancel = clock.after(ms, () => over.resolve(false))
  const isOver = () => over.resolve(true)
  work.then(isOver, isOver)
  return await over.promise.finally(cancel)
}

/**
 * @returns a signal that aborts when `signal` aborts, or after `ms` milliseconds. The system's timer counts the time,
 * and tests can't control that timer through a `Clock`. So use this function only for network calls.
 */
export function limitedTo(ms: number, signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(ms)])
}

export function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
