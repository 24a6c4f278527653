import type { Tx } from '../engine/db.ts'
import { releaseDeliveriesOf } from '../inbox/work.ts'
import { releaseReadsOf } from '../reads/claims.ts'
import { removeDeadProcesses } from './processes.ts'

/** What a process that is dead had in hand. */
export interface ReleasedClaims {
  readonly processId: string
  readonly deliveries: number
  readonly reads: number
}

/**
 * Takes processes that were not seen for a while off the list, and frees the deliveries and reads that they had claimed, so that nobody
 * waits for the leases to end. One that lives after all can settle none of it any more. Lanes of pushes wait for theirs: only time tells
 * that a request is not under way.
 */
export async function releaseClaimsOfDeadProcesses(tx: Tx): Promise<ReleasedClaims[]> {
  const left: ReleasedClaims[] = []
  for (const processId of await removeDeadProcesses(tx)) {
    left.push({ processId, deliveries: await releaseDeliveriesOf(tx, processId), reads: await releaseReadsOf(tx, processId) })
  }
  return left
}
