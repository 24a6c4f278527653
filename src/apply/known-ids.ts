import type { SubmissionRow } from '../model/entities/submissions.ts'
import { rawNames } from '../model/entities.ts'
import type { Row } from '../model/entity.ts'
import { type KnownId, knownIdsInText } from '../model/known-ids.ts'
import type { EventObservation, MessageObservation, Observation, StateObservation } from '../model/observations.ts'
import { isIdRead } from '../model/reads.ts'
import { parseUuid } from '../model/uuid.ts'
import type { ApplySession } from './session.ts'

/**
 * Records the ids that observations name, except ids of purged submissions. Stores the id of a submission's insured
 * in the submission's row.
 */
export async function applyKnownIds(session: ApplySession, observations: readonly Observation[]): Promise<void> {
  const naming = observations.flatMap((observation) => {
    if (observation.kind !== 'event' && observation.kind !== 'message' && observation.kind !== 'state' && observation.kind !== 'named')
      return []
    const ids = observation.kind === 'named' ? observation.ids : idsOf(observation)
    return ids.length === 0 ? [] : [{ observation, ids }]
  })
  const purged = await purgedOthers(session, naming)
  for (const { observation, ids } of naming) {
    const via = viaOf(observation)
    for (const id of ids) {
      if (!purged.has(`${observation.account} ${id.submissionId}`))
        session.noteKnownId({ ...id, account: observation.account, via }, observation.cause)
    }
    const insured = ids.find(({ kind, submissionId }) => kind === 'insured' && submissionId === observation.submissionId)
    if (insured && !isOfInsured(observation)) setInsured(session, observation, insured.id)
  }
}

/**
 * @returns the purged submissions that observations of other submissions name. Each is
 * the text `account submission_id`.
 */
async function purgedOthers(
  { access }: ApplySession,
  naming: readonly { readonly observation: Observation; readonly ids: readonly KnownId[] }[],
): Promise<ReadonlySet<string>> {
  const others = new Map<string, Row>()
  for (const { observation, ids } of naming) {
    for (const { submissionId } of ids) {
      const { account } = observation
      if (submissionId !== '' && submissionId !== observation.submissionId)
        others.set(`${account} ${submissionId}`, { account, submission_id: submissionId })
    }
  }
  return others.size === 0 ? new Set() : await access.purgedAmong([...others.values()])
}

/**
 * @returns the id of the insured that an observation names for its submission. Null if the observation names no
 * insured, or is a read of an insured.
 */
export function insuredIn(observation: EventObservation | MessageObservation | StateObservation): string | null {
  if (isOfInsured(observation)) return null
  return idsOf(observation).find(({ kind, submissionId }) => kind === 'insured' && submissionId === observation.submissionId)?.id ?? null
}

/**
 * @returns ids of the insureds that observations of one submission name. The best source comes first: requirements
 * views, then events, messages, and other state reads, then reads of an insured that returned data.
 */
export function insuredsIn(observations: readonly (EventObservation | MessageObservation | StateObservation)[]): string[] {
  const isOfView = (observation: (typeof observations)[number]) => observation.kind === 'state' && observation.read === 'requirements'
  const named = [...observations.filter(isOfView), ...observations.filter((observation) => !isOfView(observation))].map(insuredIn)
  const own = observations.map((observation) =>
    observation.kind === 'state' && observation.read === 'insured' && observation.view.lists.some(({ rows }) => rows.length > 0)
      ? (observation.ownId ?? null)
      : null,
  )
  return [...new Set([...named, ...own].filter((id) => id !== null))]
}

/** @returns the stored id; null if the column contains no UUID. */
export function storedInsured(insuredId: SubmissionRow['insured_id']): string | null {
  return parseUuid(insuredId) === insuredId ? insuredId : null
}

export function idsOf(observation: EventObservation | MessageObservation | StateObservation): KnownId[] {
  const texts = textsOf(observation).filter((text) => text !== null)
  // The answer to a read of an insured may contain policies of any of the insured's submissions. Ids in this answer
  // are recorded without a submission.
  const named = texts.flatMap((text) => knownIdsInText(text, isOfInsured(observation) ? '' : observation.submissionId))
  if (observation.kind !== 'state' || !isIdRead(observation.read) || !observation.view.ownSubmissionId) return named
  // If an answer says which submission it belongs to, the documents in the answer belong to that submission too.
  const own = { kind: observation.read, id: observation.ownId ?? '', submissionId: observation.view.ownSubmissionId, isStated: true }
  const isOwn = ({ kind, submissionId }: KnownId) => kind === 'document' && submissionId === own.submissionId
  return [own, ...named.map((one) => (isOwn(one) ? { ...one, isStated: true } : one))]
}

/** @returns the raw JSON texts of the observation's rows; null for a row without one. */
function textsOf(observation: EventObservation | MessageObservation | StateObservation): (string | null)[] {
  if (observation.kind === 'event') return [observation.event.raw]
  if (observation.kind === 'message') return [observation.message.message.raw]
  const rows: Row[] = [{ ...observation.view.submission }, ...observation.view.lists.flatMap((list) => list.rows)]
  return rows.flatMap((row) => [...rawNames].map((column) => row[column])).map((raw) => (typeof raw === 'string' ? raw : null))
}

function viaOf(observation: Exclude<Observation, { kind: 'request' | 'reach' | 'absent' | 'derived' | 'document' }>): string {
  if (observation.kind === 'named') return observation.via
  if (observation.kind === 'state') return observation.read
  return observation.via === 'webhook' ? 'webhook' : observation.kind === 'event' ? 'events' : 'thread'
}

/**
 * Whether the insured in the observation may belong to another submission. True for reads of an insured and for
 * ids from a command.
 */
function isOfInsured(observation: Observation): boolean {
  return (
    (observation.kind === 'state' && observation.read === 'insured') || (observation.kind === 'named' && observation.cause === 'command')
  )
}

/**
 * Stores the insured in the row of the observation's submission. If the row already has an insured, only a
 * requirements view replaces it.
 */
function setInsured(session: ApplySession, observation: Observation, insuredId: string): void {
  if (observation.submissionId === '') return
  const row = session.submissions.get({ account: observation.account, submission_id: observation.submissionId })
  if (row === null || row.insured_id === insuredId) return
  const isOfView = observation.kind === 'state' && observation.read === 'requirements'
  if (isOfView || storedInsured(row.insured_id) === null) session.submissions.put({ ...row, insured_id: insuredId }, observation.cause)
}
