import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { PermanentError } from '../../base/errors.ts'
import type { Db } from './db.ts'

/**
 * The work was taken over by another process before it was settled: the whole transaction is rolled back (invariant 14), and whoever
 * holds the lease now does the work.
 */
export class LeaseLostError extends PermanentError {
  constructor(what: string) {
    super(`${what}: the lease was lost, another process does this work now`)
  }
}

/** The longest lease of a delivery or a read. */
export const LONGEST_LEASE_MS = 120_000

/** A token for one claim; it begins with the id of the process that claims. */
export function newLeaseToken({ processId }: Pick<Db, 'processId'>): string {
  return `${processId} ${randomUUID()}`
}

/** Whether the row of a statement is claimed by that process. */
export function isClaimedBy(processId: string): RawBuilder<boolean> {
  return sql<boolean>`substr(lease_token, 1, ${sql.lit(processId.length + 1)}) = ${`${processId} `}`
}
