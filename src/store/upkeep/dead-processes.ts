import type { Db, Tx } from '../engine/db.ts'
import type { Claimed, Leased } from '../engine/leased.ts'
import { claimedDeliveries } from '../inbox/work.ts'
import { claimedReads } from '../reads/claims.ts'
import { claimedFetches } from '../reads/fetches.ts'
import { claimedPaths } from '../reads/path-reads.ts'
import { isCommandReading, removeDeadProcesses } from './processes.ts'

export interface ReleasedClaims {
  readonly processId: string
  readonly deliveries: number
  readonly reads: number
}

/**
 * Releases leftover claims when a service starts or after a database failure; no work is in flight then. On SQLite, only one process
 * serves, so all claims are leftovers unless a command is reading. On Postgres, releases this process's claims.
 * @param of columns of the rows, such as the account.
 */
export async function releaseLeft<C extends Claimed>(db: Db, claimed: Leased<C>, of: Readonly<Record<string, string>> = {}): Promise<void> {
  if (db.kind === 'postgres') await db.write('read-release', (tx) => claimed.releaseOf(tx, db.processId, of))
  else if (!(await isCommandReading(db.read))) await db.write('read-release', (tx) => claimed.releaseAll(tx, of))
}

const READS = [claimedReads, claimedPaths, claimedFetches]

/**
 * Removes processes that were not seen for a while. Releases their claims on deliveries and reads, which they can then no longer settle.
 * Push streams and alert messages keep their leases, because a request may still be in flight.
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
