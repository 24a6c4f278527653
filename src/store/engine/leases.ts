import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { PermanentError } from '../../base/errors.ts'
import type { Db } from './db.ts'

/** Another process took over the work before it was settled. The whole transaction rolls back (invariant 14); the new holder does the work. */
export class LeaseLostError extends PermanentError {
  constructor(what: string) {
    super(`${what}: the lease was lost, another process does this work now`)
  }
}

/** The longest lease of a delivery or a read. */
export const LONGEST_LEASE_MS = 120_000

/** A token for one claim. It begins with the id of the claiming process. */
export function newLeaseToken({ processId }: Pick<Db, 'processId'>): string {
  return `${processId} ${randomUUID()}`
}

/** Condition: the row is claimed by that process. */
export function isClaimedBy(processId: string): RawBuilder<boolean> {
  return sql<boolean>`substr(lease_token, 1, ${sql.lit(processId.length + 1)}) = ${`${processId} `}`
}
