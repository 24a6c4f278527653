/**
 * Shares answers between concurrent callers. One call of `ask` runs at a time; callers during it share the next call. No answer is older
 * than its request. A failure reaches all sharing callers.
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
