import { randomUUID } from 'node:crypto'
import type { Config, DestinationConfig } from '../../config/config.ts'
import { entities } from '../../model/entities.ts'
import type { TimeText } from '../../model/time.ts'
import {
  planResend,
  progressOf,
  type Resend,
  type ResendPlan,
  type ResendProgress,
  type ResendRange,
  stepResend,
} from '../../push/queue/resend.ts'
import { logEnds } from '../../store/changes/log-info.ts'
import { type ActionDetail, beginAction, endAction, unfinishedActions } from '../../store/operators/actions.ts'
import type { DestinationRow } from '../../store/outbox/destinations.ts'
import type { ResendSelection } from '../../store/outbox/resend.ts'
import { ConflictError } from '../output/refusals.ts'
import { type ActionContext, untilDone } from './context.ts'
import { destinationNamed, knownDestination } from './names.ts'
import { resendNotes } from './resend-notes.ts'

/** Tables whose changes can be sent again. */
export const resendEntities = entities.map(({ table }) => table)

/** An equal request completes an interrupted resend if the resend started at most this many ms ago. */
const RESUMABLE_MS = 24 * 3_600_000

export interface ResendRequest {
  readonly selection: ResendSelection
  /** The request as the operator made it, for the audit entry. An equal request completes an interrupted resend. */
  readonly asked: Readonly<Record<string, string>>
  readonly newIds: boolean
}

export interface PreparedResend {
  readonly destination: DestinationConfig
  readonly state: DestinationRow
  readonly plan: ResendPlan
  /** The interrupted resend that this resend completes; null for a new resend. */
  readonly continues: { readonly since: TimeText; readonly queued: number } | null
  /** Notes for the operator, one sentence each. */
  readonly notes: readonly string[]
  readonly work: Omit<Resend, 'actionId'> & { readonly actionId: number | null; readonly detail: ActionDetail }
}

/**
 * Plans a resend, or the rest of an interrupted resend.
 * @throws NotFoundError if the destination is unknown, ConflictError while the destination's snapshot is in progress.
 */
export async function prepareResend(
  a: Pick<ActionContext, 'db' | 'signal'>,
  config: Pick<Config, 'destinations'>,
  name: string,
  request: ResendRequest,
): Promise<PreparedResend> {
  const destination = destinationNamed(config, name)
  const state = await knownDestination(a.db.read, name)
  if (state.snapshot !== null)
    throw new ConflictError([`the snapshot for destination ${name} is in progress and sends everything. Try again when it is complete`])
  const { first_seq } = await logEnds(a.db.read)
  const detail: ActionDetail = { ...request.asked, new_ids: request.newIds }
  const open = await unfinishedActions(a.db.read, { action: ACTION, target: name }, RESUMABLE_MS)
  const same = open.find((entry) => JSON.stringify(wordsOf(entry.detail)) === JSON.stringify(wordsOf(detail)))
  const begun = same && begunOf(same.detail)
  const { selection, range, newIds } = begun ?? {
    selection: request.selection,
    range: rangeOf(request.selection, first_seq, state.cursor),
    newIds: request.newIds ? randomUUID() : null,
  }
  const progress = progressOf(same?.detail ?? {})
  const rest = { after: Math.max(range.after, progress.queuedTo), to: range.to }
  const plan = await planResend(a.db.read, destination, state, selection, rest, a.signal)
  const continues = same && begun ? { since: same.at, queued: progress.queued } : null
  const others = open.filter((entry) => entry !== same)
  return {
    destination,
    state,
    plan,
    continues,
    notes: resendNotes({ destination, state, plan, selection, firstSeq: first_seq, isNew: newIds !== null, continues, others }),
    work: { actionId: begun && same ? same.action_id : null, selection, range, newIds, detail },
  }
}

/** Queues the planned changes in short transactions. @returns the number of changes that this call queued. */
export async function resend(a: ActionContext, { destination, state, plan, continues, work }: PreparedResend): Promise<number> {
  const { selection, range, newIds } = work
  const begun = { ...work.detail, selection: { ...selection, seq: undefined }, ...range, generation: newIds, changes: plan.changes }
  const detail = JSON.parse(JSON.stringify(begun)) as ActionDetail
  const actionId = work.actionId ?? (await beginAction(a.db, { who: a.who, action: ACTION, target: destination.name, detail }))
  let progress: ResendProgress = { queued: continues?.queued ?? 0, queuedTo: range.after }
  await untilDone(a, async () => {
    const moved = await stepResend(a.db, destination, state, { actionId, selection, range, newIds }, progress)
    progress = moved ?? progress
    return moved === null || moved.queuedTo >= range.to ? null : moved.queuedTo
  })
  const { queued } = progress
  await endAction(a.db, actionId, 'done', { ...detail, queued, queued_to: range.to })
  return queued - (continues?.queued ?? 0)
}

/** @returns a planned resend as JSON. */
export function shownResend({ destination, plan, continues, notes }: PreparedResend) {
  const { changes, submissions, firstSeq, lastSeq, waiting, deadLettered, unknown, filtered, purged, changedSince } = plan
  return {
    destination: destination.name,
    changes,
    submissions,
    first_seq: firstSeq,
    last_seq: lastSeq,
    waiting,
    dead_lettered: deadLettered,
    unknown,
    filtered,
    purged,
    changed_since: changedSince,
    continues: continues !== null,
    notes: [...notes],
  }
}

const ACTION = 'destination.resend'

function rangeOf({ seq }: ResendSelection, firstSeq: number, cursor: number): ResendRange {
  const [first, last] = seq ?? [firstSeq, cursor]
  return { after: Math.max(first, firstSeq) - 1, to: Math.min(last, cursor) }
}

const WORDS = ['since', 'until', 'seq', 'submission_id', 'entity', 'new_ids']

function wordsOf(detail: ActionDetail) {
  return WORDS.map((word) => detail[word] ?? null)
}

/**
 * @returns a started resend from its audit entry; undefined if the entry is incomplete.
 * The entry contains absolute times. An age such as `2h` therefore counts from the start of the interrupted resend.
 */
function begunOf({ selection, after, to, generation }: ActionDetail): Omit<Resend, 'actionId'> | undefined {
  if (typeof selection !== 'object' || selection === null || typeof after !== 'number' || typeof to !== 'number') return undefined
  const newIds = typeof generation === 'string' ? generation : null
  return { selection: selection as ResendSelection, range: { after, to }, newIds }
}
