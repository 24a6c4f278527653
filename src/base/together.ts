/**
 * Lets those who ask for the same thing share its answers: at most one question is under way, and all who ask meanwhile get the answer of the
 * next one. So an answer never tells of a moment before it was asked for.
 * @param ask what is asked; when it fails, all who share it are told so.
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
