import type { Tx } from '../engine/db.ts'
import { releaseDeliveriesOf } from '../inbox/work.ts'
import { releaseReadsOf } from '../reads/claims.ts'
import { takeDeadOff } from './processes.ts'

/** What a process that is dead had in hand. */
export interface LeftByDead {
  readonly processId: string
  readonly deliveries: number
  readonly reads: number
}

/**
 * Takes processes that were not seen for a while off the list, and frees the deliveries and reads that they had claimed, so that nobody
 * waits for the leases to end. One that lives after all can settle none of it any more. Lanes of pushes wait for theirs: only time tells
 * that a request is not under way.
 */
export async function freeWhatTheDeadHold(tx: Tx): Promise<LeftByDead[]> {
  const left: LeftByDead[] = []
  for (const processId of await takeDeadOff(tx)) {
    left.push({ processId, deliveries: await releaseDeliveriesOf(tx, processId), reads: await releaseReadsOf(tx, processId) })
  }
  return left
}
