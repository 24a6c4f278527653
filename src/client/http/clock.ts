/** Time as the client needs it. */
export interface ClientClock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Resolves after `ms` milliseconds, or at once when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const realClock: ClientClock = {
  now: () => Date.now(),
  sleep(ms, signal) {
    const { promise, resolve } = Promise.withResolvers<void>()
    if (signal?.aborted) return Promise.resolve()
    const timer = setTimeout(resolve, ms)
    const wake = () => {
      clearTimeout(timer)
      resolve()
    }
    signal?.addEventListener('abort', wake, { once: true })
    return promise.finally(() => signal?.removeEventListener('abort', wake))
  },
}
