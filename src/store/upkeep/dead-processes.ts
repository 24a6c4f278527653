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
 * Releases claims of work that no process performs any more. Call this when a service starts or after a database
 * failure, while the service has no work in flight. On Postgres, releases the claims of this process. On SQLite,
 * releases all claims, because only one process serves. Exception on SQLite: while a command reads from the service,
 * releases none.
 * @param of columns that the rows must match, such as the account.
 */
export async function releaseLeft<C extends Claimed>(db: Db, claimed: Leased<C>, of: Readonly<Record<string, string>> = {}): Promise<void> {
  if (db.kind === 'postgres') await db.write('read-release', (tx) => claimed.releaseOf(tx, db.processId, of))
  else if (!(await isCommandReading(db.read))) await db.write('read-release', (tx) => claimed.releaseAll(tx, of))
}

const READS = [claimedReads, claimedPaths, claimedFetches]

/**
 * Removes dead processes, and releases their claims on deliveries and reads. If a removed process is alive after all,
 * it can't store results for these claims. Push streams and alert messages stay claimed until their leases end, because
 * a request may still be in flight.
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
