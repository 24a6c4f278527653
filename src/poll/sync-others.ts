import type { ReadKind } from '../model/reads.ts'
import { LONGEST_LEASE_MS } from '../store/engine/leased.ts'
import { readError } from '../store/reads/account-reads.ts'
import { claimedReads, claimReads, type IdClaim, releaseRead } from '../store/reads/claims.ts'
import { listIdsOf } from '../store/reads/known-ids.ts'
import { addPaths, claimedPaths, claimPath, extraReadsOf, type PathClaim, releasePath } from '../store/reads/path-reads.ts'
import { carryOutExtraRead, namesOf } from './extra-reads.ts'
import { carryOutIdRead } from './id-read.ts'
import { type Failure, readNow } from './read-now.ts'
import type { FailedRead, SyncOptions } from './sync-options.ts'

/**
 * Reads the bind requests, policies, and insureds of the given submissions immediately. Also reads the ids that
 * the answers name.
 * @param submissionIds known submissions; `['']`: ids that belong to no submission.
 * @param off kinds of reads to skip, because they are switched off.
 */
export async function syncIds(
  o: SyncOptions,
  submissionIds: readonly string[],
  off: ReadonlySet<ReadKind>,
  signal: AbortSignal,
): Promise<FailedRead[]> {
  const { account, db } = o
  const failures: FailedRead[] = []
  const done = new Set<string>()
  while (!signal.aborted) {
    const known = await listIdsOf(db.read, account, submissionIds)
    const left = known.filter(({ read, id }) => !off.has(read) && !done.has(`${read} ${id}`))
    if (left.length === 0) break
    for (const { read, id } of left) done.add(`${read} ${id}`)
    const wanted = left.map(({ namedFor, read, id }) => ({
      of: { account, submissionId: namedFor, read },
      claim: async () => (await claimReads(db, { account, read, id, limit: 1, leaseMs: LONGEST_LEASE_MS }))[0] ?? null,
      exists: () => claimedReads.exists(db.read, { account, submissionId: '', read, id }),
      carryOut: (claim: IdClaim) => readId(o, claim, signal),
      release: (claim: IdClaim) => releaseRead(db, claim),
    }))
    failures.push(...(await readNow(o, wanted, signal)))
  }
  return failures
}

async function readId(o: SyncOptions, claim: IdClaim, signal: AbortSignal): Promise<Failure | null> {
  const end = await carryOutIdRead(o, claim, 'command', signal)
  // A 404 is no failure for a new id, because the record may not exist yet (trap 79).
  if (end === 'read' || (end === 'gone' && claim.lastReadAt === null)) return null
  const reason = end === 'gone' ? 'not found' : ((await readError(o.db.read, claim)) ?? 'it could not be read')
  return { reason: `${claim.id}: ${reason}`, isFinal: end !== 'failed' }
}

/** Runs extra reads immediately. @param submissionIds known submissions; `['']`: paths without `{submission_id}`. */
export async function syncExtraReads(o: SyncOptions, submissionIds: readonly string[], signal: AbortSignal): Promise<FailedRead[]> {
  const { account, db, extraReads: reads = [] } = o
  const names = namesOf(reads, submissionIds[0] !== '')
  if (names.length === 0) return []
  const paths = extraReadsOf(names, submissionIds)
  await db.write('path-add', (tx) => addPaths(tx, account, paths))
  const wanted = paths.map(({ name, submissionId, path }) => ({
    of: { account, submissionId, read: `extra read ${name}` },
    claim: () => claimPath(db, { account, names: [name], submissionId }, LONGEST_LEASE_MS),
    exists: () => claimedPaths.exists(db.read, { account, submissionId, name, path }),
    carryOut: async (claim: PathClaim) => {
      const failure = await carryOutExtraRead({ ...o, reads }, claim, 'command', signal)
      return failure === null ? null : { reason: failure.reason, isFinal: true }
    },
    release: (claim: PathClaim) => releasePath(db, claim),
  }))
  return await readNow(o, wanted, signal)
}
