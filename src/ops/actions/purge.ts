import { BusyError } from '../../base/errors.ts'
import type { DocumentStorage } from '../../documents/storage/storage.ts'
import { storedPathsOf } from '../../store/mirror/documents.ts'
import {
  beginPurge,
  endPurge,
  interruptedPurges,
  type Purged,
  purgeBodies,
  purgeChanges,
  purgeRejected,
  purgeRows,
} from '../../store/mirror/purge.ts'
import { knownSubmissions } from '../../store/mirror/submissions.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { purgePushes } from '../../store/outbox/purge.ts'
import { knownPaths } from '../../store/reads/fetches.ts'
import { type ActionContext, idsForAudit, inSteps, untilDone } from './context.ts'

const WAIT_MS = 250
const LOG_ATTEMPTS = 40

/**
 * @param ids without duplicates.
 * @returns `submissions`: submissions that `purgeSubmissions` would remove, including those of interrupted purges.
 * `unknown`: ids that are not tracked in the account.
 */
export async function purgePreview(a: ActionContext, account: string, ids: readonly string[]) {
  const interrupted = await interruptedPurges(a.db.read, account)
  const known = await knownSubmissions(
    a.db.read,
    ids.map((submission_id) => ({ account, submission_id })),
  )
  const [asked, begun] = [new Set(ids), new Set(interrupted)]
  const isThere = (id: string) => known.has(`${account} ${id}`) || begun.has(id)
  const all = [...ids, ...interrupted.filter((id) => !asked.has(id))]
  return { submissions: all.filter(isThere), unknown: all.filter((id) => !isThere(id)) }
}

/**
 * Deletes all data of submissions in short steps and stops tracking them.
 * Also completes interrupted purges of the account.
 * @param ids without duplicates.
 * @param storage contains the document files. If a crash leaves files behind, the document sweep removes the files.
 */
export async function purgeSubmissions(a: ActionContext, account: string, ids: readonly string[], storage: DocumentStorage) {
  const note = { who: a.who, action: 'submission.purge', target: account, detail: idsForAudit(ids) }
  return await auditAction(a.db, note, async () => {
    const preview = await purgePreview(a, account, ids)
    const asked = new Set(ids)
    const [all, paths] = [[] as Purged[], new Set<string>()]
    for (const submissionId of [...preview.submissions, ...preview.unknown]) {
      const of: Purged = { account, submissionId }
      for (const path of await storedPathsOf(a.db.read, account, submissionId)) paths.add(path)
      if (!(await beginPurge(a.db, of, !asked.has(submissionId)))) continue
      all.push(of)
      await untilDone(a, () => removePushes(a, of))
      await untilDone(a, async () => ((await purgeRows(a.db, of)) > 0 ? 0 : null))
    }
    if (all.length > 0) {
      await untilDone(a, (after) => purgeBodies(a.db, all, after))
      await untilDone(a, (after) => purgeRejected(a.db, all, after))
      await untilDone(a, (after) => purgeChanges(a.db, all, after))
    }
    await removeFiles(a, storage, [...paths])
    if (all.length > 0) await emptyLog(a)
    for (const of of all) await endPurge(a.db, of)
    const ended = preview.submissions.filter((id) => !asked.has(id))
    return { ...preview, detail: { purged: preview.submissions.length, ...(ended.length > 0 && { ended: idsForAudit(ended) }) } }
  })
}

/**
 * Removes some pushes of a submission. While a push is being sent, waits `WAIT_MS` before returning.
 * @returns 0 if pushes may remain, so that `untilDone` calls again; null if no push remains.
 */
async function removePushes(a: ActionContext, of: Purged): Promise<number | null> {
  const left = await purgePushes(a.db, of)
  if (left === 'inFlight') await a.clock.sleep(WAIT_MS, a.signal)
  return left === 'none' ? null : 0
}

/**
 * Empties SQLite's write-ahead log, which still contains the purged rows.
 * @throws BusyError if another process reads the log for 10 s. The next purge tries again.
 */
async function emptyLog(a: ActionContext): Promise<void> {
  for (let attempt = 0; attempt < LOG_ATTEMPTS; attempt++) {
    if (await a.db.emptyLog()) return
    await a.clock.sleep(WAIT_MS, a.signal)
  }
  throw new BusyError(
    'the data is deleted, but the write-ahead log (`mirror.db-wal`) still contains old versions, because another process reads the database. End that process (a backup or query), then run the purge again',
  )
}

/** Removes document files that no remaining document uses. */
async function removeFiles(a: ActionContext, storage: DocumentStorage, paths: readonly string[]): Promise<void> {
  await inSteps(a, paths, 100, async (step) => {
    const known = await knownPaths(a.db.read, step)
    for (const path of step) if (!known.has(path)) await storage.remove(path)
  })
}
