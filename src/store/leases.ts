import { PermanentError } from '../errors.ts'

/**
 * The work was taken over by another process before it was settled: the whole transaction is rolled back (invariant 14), and whoever
 * holds the lease now does the work.
 */
export class LeaseLostError extends PermanentError {
  constructor(what: string) {
    super(`${what}: the lease was lost, another process does this work now`)
  }
}
