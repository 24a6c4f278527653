import type { Clock } from './clock.ts'

/** Stops waiting for `work` when `signal` aborts; `work` continues. @throws the error of `work`, or the abort reason of `signal`. */
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

/** Passes `work` a signal that aborts when `signal` does, or after `ms` milliseconds. @param late abort reason of the timeout. */
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

/** @returns whether `work` settles within `ms` milliseconds. Doesn't stop `work`. */
export async function endsWithin(clock: Pick<Clock, 'after'>, ms: number, work: Promise<unknown>): Promise<boolean> {
  const over = Promise.withResolvers<boolean>()
  const cancel = clock.after(ms, () => over.resolve(false))
  const isOver = () => over.resolve(true)
  work.then(isOver, isOver)
  return await over.promise.finally(cancel)
}

/** @returns a signal that aborts when `signal` does, or after `ms` ms of system time. Only for network calls. */
export function limitedTo(ms: number, signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(ms)])
}

export function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
