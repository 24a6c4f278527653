import { type DocumentSources, documentKeyOf, documentKeysOfPolicy, documentsOf } from '../model/documents.ts'
import { type DocumentRow, documents } from '../model/entities/documents.ts'
import { type PolicyRow, policies } from '../model/entities/policies.ts'
import { sourceOffers } from '../model/entities/source-offers.ts'
import { type DocumentFact, type Fact, type SubmissionRef, submissionIn } from '../model/facts.ts'
import { hasValue } from '../model/merge.ts'
import type { Cause } from '../model/records.ts'
import type { TimeText } from '../model/time.ts'
import { parseUuid } from '../model/uuid.ts'
import type { ApplySession } from './session.ts'

/** Documents that the facts of one submission name. */
interface Named extends SubmissionRef {
  readonly cause: Cause
  readonly keys: Set<string>
}

/**
 * Updates `documents` from the rows that name documents (see `documentsOf`), for submissions with a fact that names a document without a
 * row, or changed such a row. A reconcile run does this once at the end, by a `DerivedFact`.
 */
export async function applyDocuments(session: ApplySession, facts: readonly Fact[]): Promise<void> {
  if (!session.access.listsDocuments) return
  const places = new Map<string, Named>()
  const placeOf = ({ account, submissionId, cause }: SubmissionRef & { readonly cause: Cause }) => {
    const key = `${account} ${submissionId}`
    const place = places.get(key) ?? { account, submissionId, cause, keys: new Set<string>() }
    places.set(key, place)
    return place
  }
  for (const fact of facts) {
    if (fact.cause === 'reconcile' || fact.kind === 'document') continue
    for (const key of keysNamedBy(fact)) placeOf(fact).keys.add(key)
    if (showsSources(fact)) placeOf(fact)
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

/** Keys of a submission's documents that may be outdated. */
type Behind = 'all' | ReadonlySet<string>

/**
 * Recomputes documents of one submission. Does nothing with `DOCUMENTS=off`. @param behind which documents; only their attachments are
 * read, because a long thread has many.
 */
export async function deriveDocuments(session: ApplySession, place: SubmissionRef, cause: Cause, behind: Behind = 'all'): Promise<void> {
  if (!session.access.listsDocuments) return
  const set = session.of(documents)
  const { account, submissionId } = place
  const noted = [...session.knownIds.values()].filter((one) => one.kind === 'document' && one.account === account)
  const ids = noted.filter((one) => one.submissionId === submissionId).map(({ id }) => id)
  const moved = new Set(noted.filter((one) => one.isStated && one.submissionId !== submissionId).map(({ id }) => id))
  const only = behind === 'all' ? undefined : { column: 'document_key', values: [...behind] }
  // Without a submission, only the named ids are known.
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
    // After a failure, a document may be fetched by its new link.
    if (!hasValue(row.stored_at) && hasOtherLink(set.get(row), row)) session.newLinks.push({ account, document_key: row.document_key })
    set.put(row, cause)
  }
  for (const { document_key, gone_at } of rows) if (gone_at !== null) await passOn(session, place, document_key, cause)
}

/** Notes both submissions if one of them names a document that belongs to the other. */
function noteShared(session: ApplySession, { account, submissionId }: SubmissionRef, rows: readonly DocumentRow[]): void {
  for (const { document_key: documentKey, submission_id: owner, gone_at } of rows) {
    if (owner === null || owner === submissionId || submissionId === '' || hasValue(gone_at)) continue
    session.sharedDocuments.push({ account, documentKey, submissionId }, { account, documentKey, submissionId: owner })
  }
}

/** Gives a document that a submission no longer names to the naming submission with the lowest id. */
async function passOn(session: ApplySession, { account, submissionId }: SubmissionRef, documentKey: string, cause: Cause): Promise<void> {
  const noted = session.sharedDocuments.filter((one) => one.account === account && one.documentKey === documentKey)
  const sharers = new Set([...noted.map((one) => one.submissionId), ...(await session.access.sharersOf(account, documentKey))])
  sharers.delete(submissionId)
  for (const other of [...sharers].sort()) await deriveDocuments(session, { account, submissionId: other }, cause, new Set([documentKey]))
}

/**
 * @returns the rows that a submission's documents should have. @param stored its rows, and other submissions' rows with one of its keys.
 * @param behind the requested documents; `sources` and `stored` need to contain only their rows.
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
  // An id no longer counts for a document whose rows are all gone.
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
export async function applyFetched(session: ApplySession, fact: DocumentFact): Promise<void> {
  const set = session.of(documents)
  const key = { account: fact.account, document_key: fact.documentKey }
  await set.load([key])
  const row = set.get(key)
  if (row === null) return
  const { stored, error, triedAt } = fact
  if (stored === null) return set.put({ ...row, ...(fact.isLost ? NOTHING : {}), error, tried_at: triedAt }, fact.cause)
  const { sha256, bytes: stored_bytes, path: stored_path } = stored
  const file = { sha256, stored_bytes, stored_path, stored_at: triedAt }
  set.put({ ...row, ...file, error: null, tried_at: triedAt } as DocumentRow, fact.cause)
}

function hasOtherLink(before: DocumentRow | null, after: DocumentRow): boolean {
  return before !== null && (before.document_url !== after.document_url || before.download_path !== after.download_path)
}

function keysNamedBy(fact: Fact): string[] {
  if (fact.kind === 'message') return fact.message.attachments.flatMap(({ document_key }) => document_key ?? [])
  if (fact.kind !== 'state') return []
  const rows = (table: string) => fact.view.lists.flatMap((list) => (list.table === table ? list.rows : []))
  const links = rows(sourceOffers.table).flatMap(({ document_url, presentation_id }) =>
    typeof document_url === 'string' ? [documentKeyOf(document_url, String(presentation_id))] : [],
  )
  return [...links, ...rows(policies.table).flatMap((row) => documentKeysOfPolicy(row as PolicyRow))]
}

/** Whether a fact can change rows that name documents by leaving them out. */
function showsSources(fact: Fact): boolean {
  if (fact.kind === 'absent') return fact.messages.length + fact.attachments.length > 0
  return fact.kind === 'state' && fact.view.lists.some(({ table }) => table === sourceOffers.table || table === policies.table)
}

/** The named documents that have no row, and those of rows that were changed in this transaction. */
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

/** Whether a row belongs to another submission that names the document: of several, to the lowest id. */
function isOfAnother({ submission_id, gone_at }: DocumentRow, { submissionId }: SubmissionRef): boolean {
  if (submission_id === null || parseUuid(submission_id) !== submission_id || submission_id === submissionId) return false
  return submissionId === '' || (submission_id < submissionId && !hasValue(gone_at))
}

type Kept = Pick<DocumentRow, 'sha256' | 'stored_bytes' | 'stored_path' | 'stored_at' | 'error' | 'tried_at'>
const NOTHING = { sha256: null, stored_bytes: null, stored_path: null, stored_at: null } as const

/** The kept columns of a stored row. If a column of the file is wrong, the document counts as not stored and is fetched again. */
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
