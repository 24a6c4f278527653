/**
 * Waits for `work`, but no longer than `signal` allows; the work itself goes on, and nobody hears how it ends then.
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
