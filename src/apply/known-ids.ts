import type { SubmissionRow } from '../model/entities/submissions.ts'
import { rawNames } from '../model/entities.ts'
import type { Row } from '../model/entity.ts'
import type { EventFact, Fact, MessageFact, StateFact } from '../model/facts.ts'
import { type KnownId, knownIdsInText } from '../model/known-ids.ts'
import { isIdRead } from '../model/reads.ts'
import { parseUuid } from '../model/uuid.ts'
import type { ApplySession } from './session.ts'

/** Notes the ids that facts name, except ids of purged submissions. A submission's insured goes into its row. */
export async function applyKnownIds(session: ApplySession, facts: readonly Fact[]): Promise<void> {
  const naming = facts.flatMap((fact) => {
    if (fact.kind !== 'event' && fact.kind !== 'message' && fact.kind !== 'state' && fact.kind !== 'named') return []
    const ids = fact.kind === 'named' ? fact.ids : idsOf(fact)
    return ids.length === 0 ? [] : [{ fact, ids }]
  })
  const purged = await purgedOthers(session, naming)
  for (const { fact, ids } of naming) {
    const via = viaOf(fact)
    for (const id of ids) {
      if (!purged.has(`${fact.account} ${id.submissionId}`)) session.noteKnownId({ ...id, account: fact.account, via }, fact.cause)
    }
    const insured = ids.find(({ kind, submissionId }) => kind === 'insured' && submissionId === fact.submissionId)
    if (insured && !isOfInsured(fact)) setInsured(session, fact, insured.id)
  }
}

/** The purged submissions among those that other answers name, such as an insured's. */
async function purgedOthers(
  { access }: ApplySession,
  naming: readonly { readonly fact: Fact; readonly ids: readonly KnownId[] }[],
): Promise<ReadonlySet<string>> {
  const others = new Map<string, Row>()
  for (const { fact, ids } of naming) {
    for (const { submissionId } of ids) {
      const { account } = fact
      if (submissionId !== '' && submissionId !== fact.submissionId)
        others.set(`${account} ${submissionId}`, { account, submission_id: submissionId })
    }
  }
  return others.size === 0 ? new Set() : await access.purgedAmong([...others.values()])
}

/** @returns the insured that a fact names for its submission; null if none. */
export function insuredIn(fact: EventFact | MessageFact | StateFact): string | null {
  if (isOfInsured(fact)) return null
  return idsOf(fact).find(({ kind, submissionId }) => kind === 'insured' && submissionId === fact.submissionId)?.id ?? null
}

/**
 * @returns the insureds that facts name for their submission, the best source first: the requirements view, other answers, then known
 * insureds that exist.
 */
export function insuredsIn(facts: readonly (EventFact | MessageFact | StateFact)[]): string[] {
  const isOfView = (fact: (typeof facts)[number]) => fact.kind === 'state' && fact.read === 'requirements'
  const named = [...facts.filter(isOfView), ...facts.filter((fact) => !isOfView(fact))].map(insuredIn)
  const own = facts.map((fact) =>
    fact.kind === 'state' && fact.read === 'insured' && fact.view.lists.some(({ rows }) => rows.length > 0) ? (fact.ownId ?? null) : null,
  )
  return [...new Set([...named, ...own].filter((id) => id !== null))]
}

/** @returns null if `submissions.insured_id` is no id. */
export function storedInsured(insuredId: SubmissionRow['insured_id']): string | null {
  return parseUuid(insuredId) === insuredId ? insuredId : null
}

/** @returns the ids that a fact names. */
export function idsOf(fact: EventFact | MessageFact | StateFact): KnownId[] {
  const texts = textsOf(fact).filter((text) => text !== null)
  // The policies of an insured may belong to any of its submissions.
  const named = texts.flatMap((text) => knownIdsInText(text, isOfInsured(fact) ? '' : fact.submissionId))
  if (fact.kind !== 'state' || !isIdRead(fact.read) || !fact.view.ownSubmissionId) return named
  // A record that names its submission also names its documents' submission.
  const own = { kind: fact.read, id: fact.ownId ?? '', submissionId: fact.view.ownSubmissionId, isStated: true }
  const isOwn = ({ kind, submissionId }: KnownId) => kind === 'document' && submissionId === own.submissionId
  return [own, ...named.map((one) => (isOwn(one) ? { ...one, isStated: true } : one))]
}

/** The raw objects, which include everything that was sent. */
function textsOf(fact: EventFact | MessageFact | StateFact): (string | null)[] {
  if (fact.kind === 'event') return [fact.event.raw]
  if (fact.kind === 'message') return [fact.message.message.raw]
  const rows: Row[] = [{ ...fact.view.submission }, ...fact.view.lists.flatMap((list) => list.rows)]
  return rows.flatMap((row) => [...rawNames].map((column) => row[column])).map((raw) => (typeof raw === 'string' ? raw : null))
}

function viaOf(fact: Exclude<Fact, { kind: 'request' | 'reach' | 'absent' | 'derived' | 'document' }>): string {
  if (fact.kind === 'named') return fact.via
  if (fact.kind === 'state') return fact.read
  return fact.via === 'webhook' ? 'webhook' : fact.kind === 'event' ? 'events' : 'thread'
}

/** The answer about an insured names its own id, for whichever submission it was requested. */
function isOfInsured(fact: Fact): boolean {
  return (fact.kind === 'state' && fact.read === 'insured') || (fact.kind === 'named' && fact.cause === 'command')
}

/** The first insured stays, so that the order of answers hardly matters; a requirements view replaces it. */
function setInsured(session: ApplySession, fact: Fact, insuredId: string): void {
  if (fact.submissionId === '') return
  const row = session.submissions.get({ account: fact.account, submission_id: fact.submissionId })
  if (row === null || row.insured_id === insuredId) return
  const isOfView = fact.kind === 'state' && fact.read === 'requirements'
  if (isOfView || storedInsured(row.insured_id) === null) session.submissions.put({ ...row, insured_id: insuredId }, fact.cause)
}
