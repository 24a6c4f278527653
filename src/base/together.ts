/**
 * Shares answers between concurrent callers. Only one call of `ask` runs at a time. Callers that arrive during a call
 * share the next call, so an answer is never older than the caller's request.
 * If a call fails, all callers that share the call get its error.
 */
export function together<T>(ask: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null
  let next: Promise<T> | null = null
  const start = () => {
    const asked = ask()
    running = asked
    const end = () => {
      if (running === asked) running = null
    }
    asked.then(end, end)
    return asked
  }
  const follow = (before: Promise<T>) => {
    const go = () => {
      next = null
      return start()
    }
    return before.then(go, go)
  }
  return () => {
    if (running === null) return start()
    next ??= follow(running)
    return next
  }
}
