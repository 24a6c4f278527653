import type { Db, Tx } from '../engine/db.ts'
import type { Claimed, Leased } from '../engine/leased.ts'
import { claimedDeliveries } from '../inbox/work.ts'
import { claimedReads } from '../reads/claims.ts'
import { claimedFetches } from '../reads/fetches.ts'
import { claimedIds } from '../reads/known-ids.ts'
import { claimedPaths } from '../reads/path-reads.ts'
import { isCommandReading, removeDeadProcesses } from './processes.ts'

/** Claims of a dead process that were released. */
export interface ReleasedClaims {
  readonly processId: string
  readonly deliveries: number
  readonly reads: number
}

/**
 * Releases what is claimed when a service starts, and starts again after the database failed: the service has no work in flight then. On SQLite
 * only one process serves (invariant 13), so every claim is of a killed process or of this one, unless a command reads at the same time. On
 * Postgres the claims of this process are released: some could not be released while the database was away, and of others the answer was lost.
 * @param of columns of the rows: those of one account, for example.
 */
export async function releaseLeft<C extends Claimed>(db: Db, claimed: Leased<C>, of: Readonly<Record<string, string>> = {}): Promise<void> {
  if (db.kind === 'postgres') await db.write('read-release', (tx) => claimed.releaseOf(tx, db.processId, of))
  else if (!(await isCommandReading(db.read))) await db.write('read-release', (tx) => claimed.releaseAll(tx, of))
}

const READS = [claimedReads, claimedIds, claimedPaths, claimedFetches]

/**
 * Removes processes that were not seen for a while and releases their claimed deliveries and reads, so that nobody waits for the leases to
 * end. If such a process still lives, it can settle none of them. Lanes of pushes and messages to operators keep their leases: only time tells
 * that no request is in flight.
 */
export async function releaseClaimsOfDeadProcesses(tx: Tx): Promise<ReleasedClaims[]> {
  const left: ReleasedClaims[] = []
  for (const processId of await removeDeadProcesses(tx)) {
    const deliveries = await claimedDeliveries.releaseOf(tx, processId)
    let reads = 0
    for (const claimed of READS) reads += await claimed.releaseOf(tx, processId)
    left.push({ processId, deliveries, reads })
  }
  return left
}
