import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import { announce, announceRefusal } from './announce.ts'

interface Action<V, R> {
  readonly run: (given: V) => Promise<R>
  /** What was done, and where to look. */
  readonly done: (result: R, given: V) => string
}

/** Something that changes the mirror's surroundings: what comes of it is said, and everything that is shown is asked for again. */
export function useAction<V = void, R = unknown>({ run, done }: Action<V, R>): UseMutationResult<R, Error, V> {
  const client = useQueryClient()
  return useMutation({
    mutationFn: run,
    onSuccess: (result, given) => announce(done(result, given)),
    onError: (error) => announceRefusal(error.message),
    onSettled: () => client.invalidateQueries(),
  })
}
