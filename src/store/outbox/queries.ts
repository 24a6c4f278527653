import { type RawBuilder, sql } from 'kysely'
import { isOfReason } from '../../model/failure-reasons.ts'
import { haveText } from '../../model/search-words.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { searchRows } from '../engine/search-rows.ts'
import { distinctIn, idsLike, timeValue, unindexed } from '../engine/sql.ts'
import { numberIn } from '../inbox/queries.ts'
import type { OutboxState, PushStatusView } from '../schema/push.ts'
import { itsRemoteId, itsStream, ofPush, readyAs } from '../schema/push-states.ts'

/** Fields left out do not narrow. */
export interface OutboxFilter {
  readonly destination?: string | undefined
  readonly account?: string | undefined
  readonly submissionId?: string | undefined
  readonly state?: OutboxState | undefined
  readonly since?: TimeText | undefined
  readonly until?: TimeText | undefined
  /** Only rows older than this number. */
  readonly after?: number | undefined
  /** Only rows up to this number. */
  readonly through?: number | undefined
}

/** A listed row. `state` is as in the view push_status (`waiting`, `retrying`, `unmapped`, `held` for ready rows). */
export interface OutboxEntry extends PushStatusView {
  readonly outbox_id: number
  readonly stream: string
  readonly detail: string | null
  readonly insured_name: string | null
}

const ENTRY = sql`
  select o.outbox_id, o.destination, d.state as destination_state, o.account, o.stream, o.submission_id, o.entity, o.entity_id, o.operation,
    o.seq, o.message_id,
    ${sql.raw(ofPush.state)} as state, o.attempts, o.queued_at, o.tried_at, ${sql.raw(ofPush.nextTryAt)} as next_try_at,
    ${sql.raw(ofPush.deliveredAt)} as delivered_at, o.status, o.detail, o.error, r.remote_id,
    (select s.insured_name from submissions s where s.account = o.account and s.submission_id = o.submission_id) as insured_name`
const JOINED = sql`
  join sync_destinations d on d.destination = o.destination
  left join sync_push_streams l on ${sql.raw(itsStream)}
  left join sync_remote_ids r on ${sql.raw(itsRemoteId)}`

/** Stored states, and those shown for ready rows. */
export const listedStates = ['ready', 'waiting', 'retrying', 'unmapped', 'held', 'delivered', 'dead', 'unknown', 'skipped'] as const
export type ListedState = (typeof listedStates)[number]

export type OutboxListFilter = Omit<OutboxFilter, 'state'> & { readonly state?: ListedState | undefined }

/** Matching rows, newest first. */
export async function listOutbox(q: Query, { state, ...others }: OutboxListFilter, limit: number): Promise<OutboxEntry[]> {
  const [stored, shown] = isReadyAs(state) ? (['ready', readyAs[state]] as const) : [state, '1 = 1']
  const filter = { ...others, state: stored }
  return await q.all(sql<OutboxEntry>`
    ${ENTRY} from sync_outbox o ${JOINED} where ${matches(q, filter)} and ${sql.raw(shown)}
    order by ${place(q, filter)} desc limit ${sql.lit(limit)}`)
}

function isReadyAs(state: ListedState | undefined): state is keyof typeof readyAs {
  return state !== undefined && state in readyAs
}

/** The rows with that message id (one per destination), or with that outbox id when `id` is a number. */
export async function findOutboxRows(q: Query, id: string): Promise<OutboxEntry[]> {
  const outboxId = numberIn(id)
  const which = outboxId === null ? sql`o.message_id = ${id.toLowerCase()}` : sql`o.outbox_id = ${outboxId}`
  return await q.all(sql<OutboxEntry>`${ENTRY} from sync_outbox o ${JOINED} where ${which} order by o.outbox_id`)
}

/** The message ids that a shortened one may mean; none for a number. */
export async function messageIdsLike(q: Query, shortened: string, limit: number): Promise<string[]> {
  return numberIn(shortened) === null ? await idsLike(q, 'sync_outbox', 'message_id', shortened.toLowerCase(), { limit }) : []
}

/** Condition: a row is in a stored state. Literal states let both databases use the partial indexes. */
export function isIn(state: OutboxState): RawBuilder<unknown> {
  return STOPPED.includes(state)
    ? sql`o.state = ${sql.lit(state)} and o.state in ('dead', 'unknown', 'skipped')`
    : sql`o.state = ${sql.lit(state)}`
}

/** @param byState whether the index of the states is better than that of the account. */
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

/** The sort key of the list: the row's number, without its index when the submission or the state has a better one. */
export function place(q: Query, { state, destination, submissionId }: OutboxFilter): RawBuilder<unknown> {
  const byIndex = submissionId !== undefined || (isIndexed(state) && destination === undefined)
  return byIndex ? unindexed(q, 'o.outbox_id') : sql`o.outbox_id`
}

function isIndexed(state: OutboxState | undefined): boolean {
  return state !== undefined && state !== 'delivered'
}

export const STOPPED: readonly OutboxState[] = ['dead', 'unknown', 'skipped']

/** Search criteria without an index. */
interface OutboxSearch {
  /** A part of the table and operation, ids, failure, or insured, in any case and without accents. */
  readonly text?: string | undefined
  /** The reason of the failure, by `reasonOf`. */
  readonly reason?: string | undefined
  /** The failure of a row, as far as the role may see it. */
  readonly errorOf: (row: OutboxEntry) => string | null
}

export async function searchOutbox(q: Query, filter: OutboxListFilter, search: OutboxSearch, limit: number) {
  const read = (after: number | undefined, most: number) => listOutbox(q, { ...filter, after }, most)
  return await searchRows(
    { read, numberOf: (row) => row.outbox_id, wanted: (rows) => rows.filter((row) => fits(row, search)) },
    filter.after,
    limit,
  )
}

function fits(row: OutboxEntry, { text, reason, errorOf }: OutboxSearch): boolean {
  const error = errorOf(row)
  if (reason !== undefined && (error === null || !isOfReason(error, reason))) return false
  if (text === undefined) return true
  const change = `${row.entity}.${row.operation}`
  return haveText([change, row.entity_id, row.message_id, row.submission_id, row.insured_name, error], text)
}

/** A dead or retrying row, or one of unknown outcome. */
export type FailedRow = OutboxEntry & { readonly state: 'dead' | 'unknown' | 'retrying' }

/**
 * The newest stopped rows of a destination, and the retrying ones among its oldest: rows of a submission are sent in order, so failed ones come
 * first.
 * @param limit rows searched per state.
 * @returns them, and whether there may be more.
 */
export async function failedRows(q: Query, destination: string, limit: number): Promise<{ rows: FailedRow[]; hasMore: boolean }> {
  const dead = await listOutbox(q, { destination, state: 'dead' }, limit)
  const unknown = await listOutbox(q, { destination, state: 'unknown' }, limit)
  const last = await lastAmongOldest(q, destination, limit)
  const retrying = last === null ? [] : await listOutbox(q, { destination, state: 'retrying', through: last.outboxId }, limit)
  const isFull = dead.length === limit || unknown.length === limit || (last?.isFull ?? false)
  return { rows: [...dead, ...unknown, ...retrying] as FailedRow[], hasMore: isFull }
}

/** The last of the oldest waiting rows to search; null when none wait. */
async function lastAmongOldest(q: Query, destination: string, limit: number) {
  const row = await q.one(sql<{ outbox_id: number | null; n: number }>`
    select max(outbox_id) as outbox_id, count(*) as n from (
      select outbox_id from sync_outbox where destination = ${destination} and state = 'ready' order by outbox_id limit ${sql.lit(limit)}) as few`)
  return row === null || row.outbox_id === null ? null : { outboxId: row.outbox_id, isFull: row.n === limit }
}
