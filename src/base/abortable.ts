import type { Clock } from './clock.ts'

/**
 * Waits for `work` until `signal` aborts. The work itself goes on then, and its end is ignored.
 * @throws what `work` throws; the reason of `signal` as soon as it aborts.
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
 * Runs `work` with a signal that aborts with `signal`, or after `ms` milliseconds by `clock`.
 * @param late the signal's reason when the time is over.
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
 * Waits for the end of `work`, or of `ms` milliseconds by `clock`, whichever comes first. The work itself goes on.
 * @returns whether the work ended in time, also by a failure.
 */
export async function endsWithin(clock: Pick<Clock, 'after'>, ms: number, work: Promise<unknown>): Promise<boolean> {
  const over = Promise.withResolvers<boolean>()
  const cancel = clock.after(ms, () => over.resolve(false))
  const isOver = () => over.resolve(true)
  work.then(isOver, isOver)
  return await over.promise.finally(cancel)
}

/** @returns a signal that aborts with `signal`, or after `ms` milliseconds of the system's clock. For what goes to the network alone. */
export function limitedTo(ms: number, signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(ms)])
}
