/**
 * Loads something once for all who ask.
 * @returns gives what `load` gave. A failure is not kept: a missing file or too many open files may be corrected, and the next call loads again.
 */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | null = null
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = null
      throw error
    })
    return loading
  }
}
