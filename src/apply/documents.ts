import { type DocumentSources, documentKeyOf, documentKeysOfPolicy, documentsOf } from '../model/documents.ts'
import { type DocumentRow, documents } from '../model/entities/documents.ts'
import { type PolicyRow, policies } from '../model/entities/policies.ts'
import { sourceOffers } from '../model/entities/source-offers.ts'
import { hasValue } from '../model/merge.ts'
import { type DocumentObservation, type Observation, type SubmissionRef, submissionIn } from '../model/observations.ts'
import type { Cause } from '../model/records.ts'
import type { TimeText } from '../model/time.ts'
import { parseUuid } from '../model/uuid.ts'
import type { ApplySession } from './session.ts'

/** A submission whose documents may need recomputing. `keys`: keys of the documents that its observations name. */
interface Named extends SubmissionRef {
  readonly cause: Cause
  readonly keys: Set<string>
}

/**
 * Updates the table `documents` after the other tables. Recomputes the documents of a submission if its observations
 * name a document without a row, or change a row that names documents (see `documentsOf`). Ignores observations of a
 * reconcile run. Such a run recomputes documents once, at its end, by a `DerivedObservation`.
 */
export async function applyDocuments(session: ApplySession, observations: readonly Observation[]): Promise<void> {
  if (!session.access.listsDocuments) return
  const places = new Map<string, Named>()
  const placeOf = ({ account, submissionId, cause }: SubmissionRef & { readonly cause: Cause }) => {
    const key = `${account} ${submissionId}`
    const place = places.get(key) ?? { account, submissionId, cause, keys: new Set<string>() }
    places.set(key, place)
    return place
  }
  for (const observation of observations) {
    if (observation.cause === 'reconcile' || observation.kind === 'document') continue
    for (const key of keysNamedBy(observation)) placeOf(observation).keys.add(key)
    if (showsSources(observation)) placeOf(observation)
  }
  for (const { kind, id, account, submissionId, cause } of session.knownIds.values()) {
    if (kind === 'document' && cause !== 'reconcile') placeOf({ account, submissionId, cause }).keys.add(id)
  }
  for (const place of session.movedPlaces) placeOf(place)
  for (const place of places.values()) {
    const behind = await keysBehind(session, place)
    if (behind === 'all' || behind.size > 0) await deriveDocuments(session, place, place.cause, behind)
  }
}

/** Keys of the documents to recompute. `all` means all documents of the submission. */
type Behind = 'all' | ReadonlySet<string>

/**
 * Recomputes documents of one submission. Does nothing with `DOCUMENTS=off`.
 * @param behind keys of the documents. Only the attachments of these documents are loaded, because a long thread has
 * many attachments.
 */
export async function deriveDocuments(session: ApplySession, place: SubmissionRef, cause: Cause, behind: Behind = 'all'): Promise<void> {
  if (!session.access.listsDocuments) return
  const set = session.of(documents)
  const { account, submissionId } = place
  const noted = [...session.knownIds.values()].filter((one) => one.kind === 'document' && one.account === account)
  const ids = noted.filter((one) => one.submissionId === submissionId).map(({ id }) => id)
  const moved = new Set(noted.filter((one) => one.isStated && one.submissionId !== submissionId).map(({ id }) => id))
  const only = behind === 'all' ? undefined : { column: 'document_key', values: [...behind] }
  // If `submissionId` is empty, the documents belong to no known submission, and only their ids are known.
  const isAlone = submissionId === ''
  const sources: DocumentSources = {
    attachments: isAlone ? [] : await session.threadAttachments.loadSubmission(account, submissionId, only),
    offers: isAlone ? [] : await session.of(sourceOffers).loadSubmission(account, submissionId),
    policies: isAlone ? [] : await session.of(policies).loadSubmission(account, submissionId),
    ids: isAlone
      ? ids
      : [...new Set([...ids, ...(await session.access.documentIds(account, submissionId))])].filter((id) => !moved.has(id)),
  }
  const own = isAlone || behind !== 'all' ? [] : await set.loadSubmission(account, submissionId)
  const keys = (behind === 'all' ? expectedKeys(sources) : [...behind]).map((document_key) => ({ account, document_key }))
  await set.load(keys)
  const known = keys.flatMap((key) => set.get(key) ?? [])
  noteShared(session, place, known)
  const rows = documentRows(place, sources, [...own, ...known], session.now, behind)
  for (const row of rows) {
    // A document without a stored file is fetched again if it gets a new link.
    if (!hasValue(row.stored_at) && hasOtherLink(set.get(row), row)) session.newLinks.push({ account, document_key: row.document_key })
    set.put(row, cause)
  }
  for (const { document_key, gone_at } of rows) if (gone_at !== null) await passOn(session, place, document_key, cause)
}

/**
 * If this submission names a document that belongs to another submission, records both submissions for the document.
 */
function noteShared(session: ApplySession, { account, submissionId }: SubmissionRef, rows: readonly DocumentRow[]): void {
  for (const { document_key: documentKey, submission_id: owner, gone_at } of rows) {
    if (owner === null || owner === submissionId || submissionId === '' || hasValue(gone_at)) continue
    session.sharedDocuments.push({ account, documentKey, submissionId }, { account, documentKey, submissionId: owner })
  }
}

/**
 * Gives a document to another submission, after `submissionId` stopped naming the document. The new owner is the
 * submission with the lowest id that still names the document.
 */
async function passOn(session: ApplySession, { account, submissionId }: SubmissionRef, documentKey: string, cause: Cause): Promise<void> {
  const noted = session.sharedDocuments.filter((one) => one.account === account && one.documentKey === documentKey)
  const sharers = new Set([...noted.map((one) => one.submissionId), ...(await session.access.sharersOf(account, documentKey))])
  sharers.delete(submissionId)
  for (const other of [...sharers].sort()) await deriveDocuments(session, { account, submissionId: other }, cause, new Set([documentKey]))
}

/**
 * @returns the document rows to store for a submission. Rows of documents that the submission no
 * longer names have `gone_at`.
 * @param stored the submission's rows, and other submissions' rows of the same documents.
 * @param behind keys of the documents to return. `sources` and `stored` may omit other documents.
 */
export function documentRows(
  place: SubmissionRef,
  sources: DocumentSources,
  stored: readonly DocumentRow[],
  now: TimeText,
  behind: Behind = 'all',
): DocumentRow[] {
  const isShown = ({ gone_at }: { readonly gone_at: TimeText | null }) => !hasValue(gone_at)
  const shown = {
    attachments: sources.attachments.filter(isShown),
    offers: sources.offers.filter(isShown),
    policies: sources.policies.filter(isShown),
  }
  // Ignores an id if an attachment, source offer, or policy names the same document, even if that row is gone.
  const all = documentsOf({ ...sources, ids: [] })
  const expected = documentsOf({ ...shown, ids: sources.ids.filter((id) => !all.has(id)) })
  const byKey = new Map(stored.map((row) => [row.document_key, row]))
  const rows: DocumentRow[] = []
  for (const [key, found] of expected) {
    if (behind !== 'all' && !behind.has(key)) continue
    const row = byKey.get(key) ?? null
    byKey.delete(key)
    if (row !== null && isOfAnother(row, place)) continue
    rows.push({ ...found, account: place.account, submission_id: submissionIn(place), ...kept(row), gone_at: null })
  }
  for (const row of byKey.values()) {
    if (row.submission_id !== null && row.submission_id === place.submissionId && !hasValue(row.gone_at))
      rows.push({ ...row, ...kept(row), gone_at: now })
  }
  return rows
}

/** Records the result of an attempt to fetch a document. */
export async function applyFetched(session: ApplySession, observation: DocumentObservation): Promise<void> {
  const set = session.of(documents)
  const key = { account: observation.account, document_key: observation.documentKey }
  await set.load([key])
  const row = set.get(key)
  if (row === null) return
  const { stored, error, triedAt } = observation
  if (stored === null) return set.put({ ...row, ...(observation.isLost ? NOTHING : {}), error, tried_at: triedAt }, observation.cause)
  const { sha256, bytes: stored_bytes, path: stored_path } = stored
  const file = { sha256, stored_bytes, stored_path, stored_at: triedAt }
  set.put({ ...row, ...file, error: null, tried_at: triedAt } as DocumentRow, observation.cause)
}

function hasOtherLink(before: DocumentRow | null, after: DocumentRow): boolean {
  return before !== null && (before.document_url !== after.document_url || before.download_path !== after.download_path)
}

function keysNamedBy(observation: Observation): string[] {
  if (observation.kind === 'message') return observation.message.attachments.flatMap(({ document_key }) => document_key ?? [])
  if (observation.kind !== 'state') return []
  const rows = (table: string) => observation.view.lists.flatMap((list) => (list.table === table ? list.rows : []))
  const links = rows(sourceOffers.table).flatMap(({ document_url, presentation_id }) =>
    typeof document_url === 'string' ? [documentKeyOf(document_url, String(presentation_id))] : [],
  )
  return [...links, ...rows(policies.table).flatMap((row) => documentKeysOfPolicy(row as PolicyRow))]
}

/**
 * Whether the observation may have marked attachments as gone, or changed source offers or policies. Rows of these
 * tables name documents.
 */
function showsSources(observation: Observation): boolean {
  if (observation.kind === 'absent') return observation.messages.length + observation.attachments.length > 0
  return (
    observation.kind === 'state' && observation.view.lists.some(({ table }) => table === sourceOffers.table || table === policies.table)
  )
}

/**
 * @returns keys of the documents to recompute. A document in `keys` is recomputed if its row is missing or gone, or
 * should belong to this submission but doesn't. Documents of changed attachments are recomputed too. If a source
 * offer or policy changed, returns `all`.
 */
async function keysBehind(session: ApplySession, { account, submissionId, keys }: Named): Promise<Behind> {
  const changed = [session.of(sourceOffers), session.of(policies)].some((each) => each.changedRows(account, submissionId).length > 0)
  if (changed) return 'all'
  const set = session.of(documents)
  const named = [...keys].map((document_key) => ({ account, document_key }))
  await set.load(named)
  const namedRows = named.flatMap((key) => set.get(key) ?? [])
  noteShared(session, { account, submissionId }, namedRows)
  const isFresh = (row: DocumentRow | null) =>
    row !== null && !hasValue(row.gone_at) && ((row.submission_id ?? '') === submissionId || isOfAnother(row, { account, submissionId }))
  const behind = new Set([...keys].filter((document_key) => !isFresh(set.get({ account, document_key }))))
  for (const { document_key } of session.threadAttachments.changedRows(account, submissionId))
    if (typeof document_key === 'string') behind.add(document_key)
  return behind
}

function expectedKeys(sources: DocumentSources): string[] {
  return [...documentsOf(sources).keys()]
}

/**
 * Whether the row stays with another submission. If several submissions name a document, the submission with the lowest
 * id owns the row.
 */
function isOfAnother({ submission_id, gone_at }: DocumentRow, { submissionId }: SubmissionRef): boolean {
  if (submission_id === null || parseUuid(submission_id) !== submission_id || submission_id === submissionId) return false
  return submissionId === '' || (submission_id < submissionId && !hasValue(gone_at))
}

type Kept = Pick<DocumentRow, 'sha256' | 'stored_bytes' | 'stored_path' | 'stored_at' | 'error' | 'tried_at'>
const NOTHING = { sha256: null, stored_bytes: null, stored_path: null, stored_at: null } as const

/**
 * @returns the columns that a recomputation keeps. If one of the four columns of the stored file is invalid, all four
 * are cleared, and the document is fetched again.
 */
function kept(row: DocumentRow | null): Kept {
  if (row === null) return { ...NOTHING, error: null, tried_at: null }
  const { sha256, stored_bytes, stored_path, stored_at, error, tried_at } = row
  const isWhole =
    hasValue(sha256) &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    stored_path === `${sha256.slice(0, 2)}/${sha256}` &&
    hasValue(stored_bytes) &&
    hasValue(stored_at)
  const file = isWhole ? { sha256, stored_bytes, stored_path, stored_at } : NOTHING
  return { ...file, error, tried_at }
}
