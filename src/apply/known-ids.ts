import type { SubmissionRow } from '../model/entities/submissions.ts'
import { rawNames } from '../model/entities.ts'
import type { Row } from '../model/entity.ts'
import { type KnownId, knownIdsInText } from '../model/known-ids.ts'
import type { EventObservation, MessageObservation, Observation, StateObservation } from '../model/observations.ts'
import { isIdRead } from '../model/reads.ts'
import { parseUuid } from '../model/uuid.ts'
import type { ApplySession } from './session.ts'

/**
 * Records the ids that observations name, except ids of purged submissions. Stores a submission's insured in its row.
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

/** @returns the purged submissions among the other submissions that observations name. */
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

/** @returns the insured that an observation names for its submission; null if it names none. */
export function insuredIn(observation: EventObservation | MessageObservation | StateObservation): string | null {
  if (isOfInsured(observation)) return null
  return idsOf(observation).find(({ kind, submissionId }) => kind === 'insured' && submissionId === observation.submissionId)?.id ?? null
}

/**
 * @returns the insureds of the observations' submission. The best source comes first: the requirements view, then other
 * answers, then successful reads of an insured.
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
  // Policies in an insured's answer may belong to any of its submissions, so their ids are recorded without a
  // submission.
  const named = texts.flatMap((text) => knownIdsInText(text, isOfInsured(observation) ? '' : observation.submissionId))
  if (observation.kind !== 'state' || !isIdRead(observation.read) || !observation.view.ownSubmissionId) return named
  // If a record names its submission, documents in the record belong to that submission.
  const own = { kind: observation.read, id: observation.ownId ?? '', submissionId: observation.view.ownSubmissionId, isStated: true }
  const isOwn = ({ kind, submissionId }: KnownId) => kind === 'document' && submissionId === own.submissionId
  return [own, ...named.map((one) => (isOwn(one) ? { ...one, isStated: true } : one))]
}

/** Raw JSON texts of the received objects. */
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
 * Whether the observation may name another submission's insured. True for answers about an insured and for ids from a
 * command.
 */
function isOfInsured(observation: Observation): boolean {
  return (
    (observation.kind === 'state' && observation.read === 'insured') || (observation.kind === 'named' && observation.cause === 'command')
  )
}

/** Stores a submission's insured. Only a requirements view replaces a stored insured; otherwise the first one stays. */
function setInsured(session: ApplySession, observation: Observation, insuredId: string): void {
  if (observation.submissionId === '') return
  const row = session.submissions.get({ account: observation.account, submission_id: observation.submissionId })
  if (row === null || row.insured_id === insuredId) return
  const isOfView = observation.kind === 'state' && observation.read === 'requirements'
  if (isOfView || storedInsured(row.insured_id) === null) session.submissions.put({ ...row, insured_id: insuredId }, observation.cause)
}
