import type { ReadKind } from '../model/reads.ts'
import { LONGEST_LEASE_MS } from '../store/engine/leased.ts'
import { claimedIds, claimIds, type IdClaim, idError, listIdsOf, releaseId } from '../store/reads/known-ids.ts'
import { addPaths, claimedPaths, claimPath, extraReadsOf, type PathClaim, releasePath } from '../store/reads/path-reads.ts'
import { carryOutExtraRead, namesOf } from './extra-reads.ts'
import { carryOutIdRead } from './id-read.ts'
import { type Failure, readNow } from './read-now.ts'
import type { FailedRead, SyncOptions } from './sync-options.ts'

/**
 * Reads now what has an id of its own and was named for these submissions: bind requests, policies, insureds, and what their answers name.
 * @param submissionIds known ones; `['']` for ids that were named for none.
 * @param off reads that are not made.
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
    const left = known.filter(({ kind, id }) => !off.has(kind) && !done.has(`${kind} ${id}`))
    if (left.length === 0) break
    for (const { kind, id } of left) done.add(`${kind} ${id}`)
    const wanted = left.map(({ submissionId, ...only }) => ({
      of: { account, submissionId, read: only.kind },
      claim: async () => (await claimIds(db, { account, limit: 1, leaseMs: LONGEST_LEASE_MS, only }))[0] ?? null,
      exists: () => claimedIds.exists(db.read, { account, ...only }),
      carryOut: (claim: IdClaim) => readId(o, claim, signal),
      release: (claim: IdClaim) => releaseId(db, claim),
    }))
    failures.push(...(await readNow(o, wanted, signal)))
  }
  return failures
}

async function readId(o: SyncOptions, claim: IdClaim, signal: AbortSignal): Promise<Failure | null> {
  const end = await carryOutIdRead(o, claim, 'command', signal)
  // What was never read may not be there yet (trap 79).
  if (end === 'read' || (end === 'gone' && !claim.wasRead)) return null
  const reason = end === 'gone' ? 'not found' : ((await idError(o.db.read, claim)) ?? 'it could not be read')
  return { reason: `${claim.id}: ${reason}`, isFinal: end !== 'failed' }
}

/** Makes the extra reads of these submissions now. @param submissionIds `['']` for those without a submission in their path. */
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
