import { submissions } from '../../model/entities/submissions.ts'
import type { Row } from '../../model/entity.ts'
import type { SubmissionRef } from '../../model/observations.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { lockNamed } from '../engine/locks.ts'
import { syncPurged } from '../schema/reads.ts'
import { relationOf, specOf } from '../schema/table.ts'

const purged = specOf(syncPurged, 'account', 'submission_id')
const named = specOf(relationOf(submissions), 'account', 'submission_id')

/** @returns the submissions of the rows as keys for `purgedAmong`, each once. */
export function submissionKeys(rows: readonly { readonly account: string; readonly submissionId: string | null }[]): Row[] {
  const keys = rows.map(({ account, submissionId }) => [`${account} ${submissionId}`, { account, submission_id: submissionId }] as const)
  return [...new Map(keys).values()].filter(({ submission_id }) => submission_id !== null && submission_id !== '')
}

/**
 * @param keys distinct keys of submissions.
 * @returns the purged submissions among them, as texts `account submission_id`.
 */
export async function purgedAmong(q: Query, keys: readonly Row[]): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set()
  const rows = await q.selectMany(
    purged,
    keys.map(({ account = null, submission_id = null }) => ({ account, submission_id })),
  )
  return new Set(rows.map((row) => `${row['account']} ${row['submission_id']}`))
}

/**
 * Takes the lock on all submissions without a row in `submissions`, until the transaction ends.
 * @param isShared false for a purge, which needs the lock alone. True for other transactions, which share the lock and
 * so keep a purge waiting.
 */
export function lockUnknown(tx: Tx, isShared: boolean): Promise<void> {
  return lockNamed(tx, 'purge', isShared)
}

/** Like `purgedAmong`. Until the transaction ends, the remaining submissions of `keys` can't be purged. */
export async function purgedUnderLock(tx: Tx, keys: readonly Row[]): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set()
  const known = await tx.selectMany(named, keys, { lock: true })
  if (known.length < keys.length) await lockUnknown(tx, true)
  return await purgedAmong(tx, keys)
}

/**
 * Leaves out references to purged submissions. Keeps references with an empty submission id. Until the transaction
 * ends, the submissions of the returned references can't be purged.
 */
export async function withoutPurged<P extends SubmissionRef>(tx: Tx, places: readonly P[]): Promise<P[]> {
  const keys = new Map(places.map(({ account, submissionId }) => [`${account} ${submissionId}`, { account, submission_id: submissionId }]))
  const named = [...keys].filter(([, { submission_id }]) => submission_id !== '').sort(([a], [b]) => (a < b ? -1 : 1))
  const purged = await purgedUnderLock(
    tx,
    named.map(([, key]) => key),
  )
  return places.filter(({ account, submissionId }) => !purged.has(`${account} ${submissionId}`))
}

/** Deletes the marks that these submissions were purged. The submissions can then be tracked again. */
export async function forgetPurged(db: Db, account: string, submissionIds: readonly string[]): Promise<void> {
  if (submissionIds.length === 0) return
  await db.write('purge-forget', (tx) =>
    tx.sql.deleteFrom('sync_purged').where('account', '=', account).where('submission_id', 'in', submissionIds).execute(),
  )
}
