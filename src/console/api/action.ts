import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import { announce, announceError } from './announce.ts'

interface Action<V, R> {
  readonly run: (given: V) => Promise<R>
  readonly done: (result: R, given: V) => string
}

/**
 * Returns a mutation that runs an operator's action. When the action ends, shows a message, and marks all cached data
 * as stale, so that the page fetches its data again.
 */
export function useAction<V = void, R = unknown>({ run, done }: Action<V, R>): UseMutationResult<R, Error, V> {
  const client = useQueryClient()
  return useMutation({
    mutationFn: run,
    onSuccess: (result, given) => announce(done(result, given)),
    onError: (error) => announceError(error.message),
    onSettled: () => client.invalidateQueries(),
  })
}
