import type { Tx } from '../engine/db.ts'
import { releaseDeliveriesOf } from '../inbox/work.ts'
import { releaseReadsOf } from '../reads/claims.ts'
import { releaseFetchesOf } from '../reads/fetches.ts'
import { removeDeadProcesses } from './processes.ts'

/** Claims of a dead process that were released. */
export interface ReleasedClaims {
  readonly processId: string
  readonly deliveries: number
  readonly reads: number
}

/**
 * Removes processes that were not seen for a while and releases their claimed deliveries and reads, so that nobody waits for the leases to
 * end. If such a process still lives, it can settle none of them. Lanes of pushes keep their leases: only time tells that no request is in flight.
 */
export async function releaseClaimsOfDeadProcesses(tx: Tx): Promise<ReleasedClaims[]> {
  const left: ReleasedClaims[] = []
  for (const processId of await removeDeadProcesses(tx)) {
    await releaseFetchesOf(tx, { processId })
    left.push({ processId, deliveries: await releaseDeliveriesOf(tx, processId), reads: await releaseReadsOf(tx, processId) })
  }
  return left
}
