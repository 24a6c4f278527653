import { type RawBuilder, sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { distinctIn, idsLike, timeValue, unindexed } from '../engine/sql.ts'
import { numberIn } from '../inbox/queries.ts'
import type { OutboxState, PushStatusView } from '../schema/push.ts'
import { itsLane, itsRemoteId, ofPush, readyAs } from '../schema/push-states.ts'

/** Which rows of the outbox; fields left out do not narrow. */
export interface OutboxFilter {
  readonly destination?: string | undefined
  readonly account?: string | undefined
  readonly submissionId?: string | undefined
  readonly state?: OutboxState | undefined
  /** Queued at or after this time. */
  readonly since?: TimeText | undefined
  /** Queued before this time. */
  readonly until?: TimeText | undefined
  /** Only rows behind the one with this number: older ones. */
  readonly after?: number | undefined
  /** Only rows up to the one with this number. */
  readonly through?: number | undefined
}

/** A row in lists. `state` is as in the view push_status (`waiting`, `retrying`, `unmapped`, `held` for ready rows). */
export interface OutboxEntry extends PushStatusView {
  readonly outbox_id: number
  readonly lane: string
  readonly detail: string | null
  readonly insured_name: string | null
}

const ENTRY = sql`
  select o.outbox_id, o.destination, d.state as destination_state, o.account, o.lane, o.submission_id, o.entity, o.entity_id, o.operation,
    o.seq, o.message_id,
    ${sql.raw(ofPush.state)} as state, o.attempts, o.queued_at, o.tried_at, ${sql.raw(ofPush.nextTryAt)} as next_try_at,
    ${sql.raw(ofPush.deliveredAt)} as delivered_at, o.status, o.detail, o.error, r.remote_id,
    (select s.insured_name from submissions s where s.account = o.account and s.submission_id = o.submission_id) as insured_name`
const JOINED = sql`
  join sync_destinations d on d.destination = o.destination
  left join sync_push_lanes l on ${sql.raw(itsLane)}
  left join sync_remote_ids r on ${sql.raw(itsRemoteId)}`

/** Stored states, and the listed ones of a ready row. */
export const listedStates = ['ready', 'waiting', 'retrying', 'unmapped', 'held', 'delivered', 'dead', 'unknown', 'skipped'] as const
export type ListedState = (typeof listedStates)[number]

/** The filter of a list, by the listed state. */
export type OutboxListFilter = Omit<OutboxFilter, 'state'> & { readonly state?: ListedState | undefined }

/** Rows that match the filter, the newest first. */
export async function listOutbox(q: Query, { state, ...others }: OutboxListFilter, limit: number): Promise<OutboxEntry[]> {
  const [stored, shown] = isReadyAs(state) ? (['ready', readyAs[state]] as const) : [state, '1 = 1']
  const filter = { ...others, state: stored }
  const { rows } = await sql<OutboxEntry>`
    ${ENTRY} from sync_outbox o ${JOINED} where ${matches(q, filter)} and ${sql.raw(shown)}
    order by ${place(q, filter)} desc limit ${sql.lit(limit)}`.execute(q.sql)
  return rows
}

function isReadyAs(state: ListedState | undefined): state is keyof typeof readyAs {
  return state !== undefined && state in readyAs
}

/** The rows with that message id (one per destination), or the one with that outbox id when `id` is a number. */
export async function findOutboxRows(q: Query, id: string): Promise<OutboxEntry[]> {
  const outboxId = numberIn(id)
  const which = outboxId === null ? sql`o.message_id = ${id.toLowerCase()}` : sql`o.outbox_id = ${outboxId}`
  const { rows } = await sql<OutboxEntry>`${ENTRY} from sync_outbox o ${JOINED} where ${which} order by o.outbox_id`.execute(q.sql)
  return rows
}

/** The message ids that a shortened one may stand for; none for a number. */
export async function messageIdsLike(q: Query, shortened: string, limit: number): Promise<string[]> {
  return numberIn(shortened) === null ? await idsLike(q, 'sync_outbox', 'message_id', shortened.toLowerCase(), { limit }) : []
}

/** Condition: a row is in a stored state. Literal states in the text let both databases use the partial indexes. */
export function isIn(state: OutboxState): RawBuilder<unknown> {
  return STOPPED.includes(state)
    ? sql`o.state = ${sql.lit(state)} and o.state in ('dead', 'unknown', 'skipped')`
    : sql`o.state = ${sql.lit(state)}`
}

/**
 * Conditions of a filter.
 * @param byState the rows are of states with an index, which is better than that of the account.
 */
export function matches(q: Query, filter: OutboxFilter, byState = isIndexed(filter.state)) {
  const conditions = [sql`1 = 1`]
  const ofSubmission = filter.submissionId !== undefined
  if (filter.destination !== undefined) conditions.push(sql`o.destination = ${filter.destination}`)
  const account = byState && !ofSubmission ? unindexed(q, 'o.account') : sql`o.account`
  if (filter.account !== undefined) conditions.push(sql`${account} = ${filter.account}`)
  else if (ofSubmission) conditions.push(sql`o.account in ${distinctIn('sync_outbox', 'account')}`)
  if (ofSubmission) conditions.push(sql`o.submission_id = ${filter.submissionId}`)
  if (filter.state !== undefined) conditions.push(isIn(filter.state))
  if (filter.since !== undefined) conditions.push(sql`o.queued_at >= ${timeValue(q, filter.since)}`)
  if (filter.until !== undefined) conditions.push(sql`o.queued_at < ${timeValue(q, filter.until)}`)
  if (filter.after !== undefined) conditions.push(sql`${place(q, filter)} < ${filter.after}`)
  if (filter.through !== undefined) conditions.push(sql`${place(q, filter)} <= ${filter.through}`)
  return sql.join(conditions, sql` and `)
}

/**
 * The sort key of the list: the row's number, without its index when the submission or the state has one. For one destination the index of a
 * state is in the order of the numbers.
 */
export function place(q: Query, { state, destination, submissionId }: OutboxFilter): RawBuilder<unknown> {
  const byIndex = submissionId !== undefined || (isIndexed(state) && destination === undefined)
  return byIndex ? unindexed(q, 'o.outbox_id') : sql`o.outbox_id`
}

function isIndexed(state: OutboxState | undefined): boolean {
  return state !== undefined && state !== 'delivered'
}

export const STOPPED: readonly OutboxState[] = ['dead', 'unknown', 'skipped']
