import { type RawBuilder, sql } from 'kysely'
import { isOfReason } from '../../model/failure-reasons.ts'
import { haveText } from '../../model/search-words.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { numbersWithin } from '../engine/numbers-within.ts'
import { searchRows } from '../engine/search-rows.ts'
import { byFirstColumn, countCapped, distinctIn, idsLike, timeValue, unindexed } from '../engine/sql.ts'
import { numberIn } from '../inbox/queries.ts'
import { type OutboxState, outboxStates, type PushStatusView } from '../schema/push.ts'
import { itsRemoteId, itsStream, ofPush, readyAs } from '../schema/push-states.ts'

/** Selects outbox rows. A missing field doesn't restrict the selection. */
export interface OutboxFilter {
  readonly destination?: string | undefined
  readonly account?: string | undefined
  readonly submissionId?: string | undefined
  readonly state?: OutboxState | undefined
  readonly since?: TimeText | undefined
  readonly until?: TimeText | undefined
  /** Only rows with a lower `outbox_id`. */
  readonly after?: number | undefined
  /** Only rows with this `outbox_id` or a lower one. */
  readonly through?: number | undefined
  /** SQL that selects the destination's rows by another index. Replaces the condition `destination = …`. */
  readonly isDestination?: RawBuilder<unknown>
  /** Only rows of streams blocked for this reason. Requires `destination`. */
  readonly blocked?: string | undefined
  /** Reads the rows of the account in order of `outbox_id`, and tests the other conditions for each row. */
  readonly isByAccount?: boolean
  /** Range of `outbox_id` from `numbersWithin`: `from` is inclusive, `to` is exclusive. */
  readonly from?: number
  readonly to?: number
}

/**
 * An outbox row as lists show it. `state` is as in the view `push_status`: a ready row is shown as `waiting`,
 * `retrying`, `unmapped`, or `held`.
 */
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

/** States by which a list can be filtered: the stored states, and the states that lists show for ready rows. */
export const listedStates = ['ready', 'waiting', 'retrying', 'unmapped', 'held', 'delivered', 'dead', 'unknown', 'skipped'] as const
export type ListedState = (typeof listedStates)[number]

export type OutboxListFilter = Omit<OutboxFilter, 'state'> & { readonly state?: ListedState | undefined }

const QUEUED = { table: 'sync_outbox', number: 'outbox_id', time: 'queued_at' } as const

export async function listOutbox(q: Query, { state, ...others }: OutboxListFilter, limit: number): Promise<OutboxEntry[]> {
  const [stored, shown] = isReadyAs(state) ? (['ready', readyAs[state]] as const) : [state, '1 = 1']
  const within = await numbersWithin(q, QUEUED, others)
  const end = sql`desc limit ${sql.lit(limit)}`
  const blocked = state === 'unmapped' || state === 'held' ? state : undefined
  const parts = (await filtersByIndex(q, { ...others, ...within, state: stored }, blocked)).map(
    (filter) => sql`${ENTRY} from sync_outbox o ${JOINED} where ${matches(q, filter)} and ${sql.raw(shown)}
      order by ${firstOf(q, filter).order} ${place(q, filter)} ${end}`,
  )
  const [first] = parts
  if (first === undefined) return []
  const all = parts.map((part) => sql`select * from (${part}) as part`)
  return await q.all(sql<OutboxEntry>`${parts.length === 1 ? first : sql`${sql.join(all, sql` union all `)} order by outbox_id ${end}`}`)
}

/**
 * Splits a list into one query for each destination and state, because the indexes on states begin with the
 * destination. The rows of a small account are read by account instead.
 */
async function filtersByIndex(q: Query, filter: OutboxFilter, blocked: 'unmapped' | 'held' | undefined): Promise<OutboxFilter[]> {
  const { account, state, submissionId } = filter
  if (submissionId !== undefined || (filter.destination === undefined && state === undefined)) return [filter]
  if (account !== undefined && (await hasAtMost(q, MOST_OF_ACCOUNT, sql`sync_outbox where account = ${account}`)))
    return [{ ...filter, isByAccount: true }]
  const known = await q.all(sql<{ destination: string }>`select destination from sync_destinations`)
  const destinations = filter.destination === undefined ? known.map(({ destination }) => destination) : [filter.destination]
  const filters: OutboxFilter[] = []
  for (const destination of destinations) {
    const hasFewBlocked =
      blocked !== undefined && (await hasAtMost(q, MOST_STREAMS, sql`(${blockedStreams(destination, blocked)}) as streams`))
    const { is: isDestination } = ofDestination(q, destination)
    for (const each of state === undefined ? outboxStates : [state])
      filters.push({ ...filter, destination, state: each, ...(hasFewBlocked ? { blocked } : { isDestination }) })
  }
  return filters
}

async function hasAtMost(q: Query, most: number, from: RawBuilder<unknown>): Promise<boolean> {
  return (await countCapped(q, from, most + 1)) <= most
}

function ofDestination(q: Query, destination: string) {
  return byFirstColumn(q, 'o.destination', destination, 'desc')
}

/** SQL for the first column of the index that a query reads in order. */
function firstOf(q: Query, { account, destination, isByAccount, isDestination }: OutboxFilter) {
  if (isByAccount) return byFirstColumn(q, 'o.account', account ?? '', 'desc')
  return isDestination ? ofDestination(q, destination ?? '') : { order: sql`` }
}

/** If an account has at most this many rows, a list reads them by account and tests state and destination. */
const MOST_OF_ACCOUNT = 100_000
/**
 * If a destination has at most this many blocked streams, a list finds their rows by stream. If there are more, a list
 * searches the ready rows from the newest, and soon finds rows of blocked streams.
 */
const MOST_STREAMS = 1_000

function blockedStreams(destination: string, blocked: string): RawBuilder<unknown> {
  return sql`select account, stream from sync_push_streams where destination = ${destination} and blocked = ${blocked}`
}

function isReadyAs(state: ListedState | undefined): state is keyof typeof readyAs {
  return state !== undefined && state in readyAs
}

/**
 * Finds the rows with this message id. One id can have several rows: one for each destination, and one for each resend
 * with the same id. If `id` is a number, finds the row with this `outbox_id`.
 */
export async function findOutboxRows(q: Query, id: string): Promise<OutboxEntry[]> {
  const outboxId = numberIn(id)
  const which = outboxId === null ? sql`o.message_id = ${id.toLowerCase()}` : sql`o.outbox_id = ${outboxId}`
  return await q.all(sql<OutboxEntry>`${ENTRY} from sync_outbox o ${JOINED} where ${which} order by o.outbox_id`)
}

/**
 * Finds up to `limit` message ids that match a shortened id. Finds none if `shortened` is a number.
 * @param shortened the beginning of an id, or `beginning…end`.
 */
export async function messageIdsLike(q: Query, shortened: string, limit: number): Promise<string[]> {
  return numberIn(shortened) === null ? await idsLike(q, 'sync_outbox', 'message_id', shortened.toLowerCase(), { limit }) : []
}

/**
 * Condition: row `o` is in this stored state. The SQL contains the state as a literal, which lets both databases use
 * partial indexes.
 */
export function isIn(state: OutboxState): RawBuilder<unknown> {
  return STOPPED.includes(state)
    ? sql`o.state = ${sql.lit(state)} and o.state in ('dead', 'unknown', 'skipped')`
    : sql`o.state = ${sql.lit(state)}`
}

/**
 * Condition: row `o` matches the filter.
 * @param byState true to use the index on states; false to use the index on accounts.
 */
export function matches(q: Query, filter: OutboxFilter, byState = filter.state !== undefined) {
  const conditions = [sql`1 = 1`]
  const { account, destination, isByAccount, state, submissionId } = filter
  const ofSubmission = submissionId !== undefined
  const hidden = (column: string, isHidden: boolean) => (isHidden ? unindexed(q, column) : sql.ref(column))
  if (destination !== undefined) conditions.push(filter.isDestination ?? sql`${hidden('o.destination', !!isByAccount)} = ${destination}`)
  if (isByAccount) conditions.push(byFirstColumn(q, 'o.account', account ?? '', 'desc').is)
  else if (account !== undefined) conditions.push(sql`${hidden('o.account', byState && !ofSubmission)} = ${account}`)
  else if (ofSubmission) conditions.push(sql`o.account in ${distinctIn('sync_outbox', 'account')}`)
  if (ofSubmission) conditions.push(sql`o.submission_id = ${submissionId}`)
  if (state !== undefined) conditions.push(isByAccount ? sql`${hidden('o.state', true)} = ${state}` : isIn(state))
  if (filter.blocked !== undefined)
    conditions.push(sql`(o.account, o.stream) in (${blockedStreams(filter.destination ?? '', filter.blocked)})`)
  if (filter.since !== undefined) conditions.push(sql`o.queued_at >= ${timeValue(q, filter.since)}`)
  if (filter.until !== undefined) conditions.push(sql`o.queued_at < ${timeValue(q, filter.until)}`)
  if (filter.from !== undefined) conditions.push(sql`${place(q, filter)} >= ${filter.from}`)
  if (filter.to !== undefined) conditions.push(sql`${place(q, filter)} < ${filter.to}`)
  if (filter.after !== undefined) conditions.push(sql`${place(q, filter)} < ${filter.after}`)
  if (filter.through !== undefined) conditions.push(sql`${place(q, filter)} <= ${filter.through}`)
  return sql.join(conditions, sql` and `)
}

/**
 * SQL of the sort column `o.outbox_id`. Prevents SQLite from using the primary key's index if an index on submissions
 * or states is faster.
 */
export function place(q: Query, { state, destination, submissionId, blocked, isByAccount }: OutboxFilter): RawBuilder<unknown> {
  if (isByAccount) return sql`o.outbox_id`
  const byIndex = submissionId !== undefined || blocked !== undefined || (state !== undefined && destination === undefined)
  return byIndex ? unindexed(q, 'o.outbox_id') : sql`o.outbox_id`
}

export const STOPPED: readonly OutboxState[] = ['dead', 'unknown', 'skipped']

/** Search criteria that no index supports. */
interface OutboxSearch {
  /**
   * Text to find in the change (such as `quotes.insert`), the ids, the error, or the insured's name. Ignores case and
   * accents.
   */
  readonly text?: string | undefined
  /** Reason of the failure, as `reasonOf` returns it. */
  readonly reason?: string | undefined
  /** @returns the row's error text, with parts masked that the viewer's role may not see. */
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

/** A row that is dead, unknown, or waiting for another attempt. */
export type FailedRow = OutboxEntry & { readonly state: 'dead' | 'unknown' | 'retrying' }

/**
 * Lists failed rows of a destination: the newest dead rows, the newest unknown rows, and retrying rows. Looks for
 * retrying rows only among the `limit` oldest ready rows, because the oldest are sent first.
 * @param limit maximum number of rows to read for each state.
 * @returns `hasMore`: there may be failed rows that aren't listed.
 */
export async function failedRows(q: Query, destination: string, limit: number): Promise<{ rows: FailedRow[]; hasMore: boolean }> {
  const dead = await listOutbox(q, { destination, state: 'dead' }, limit)
  const unknown = await listOutbox(q, { destination, state: 'unknown' }, limit)
  const last = await lastAmongOldest(q, destination, limit)
  const retrying = last === null ? [] : await listOutbox(q, { destination, state: 'retrying', through: last.outboxId }, limit)
  const isFull = dead.length === limit || unknown.length === limit || (last?.isFull ?? false)
  return { rows: [...dead, ...unknown, ...retrying] as FailedRow[], hasMore: isFull }
}

/**
 * @returns the newest of the `limit` oldest ready rows; null if no row is ready. `isFull`: there are at least `limit`
 * ready rows.
 */
async function lastAmongOldest(q: Query, destination: string, limit: number) {
  const of = byFirstColumn(q, 'destination', destination)
  const row = await q.one(sql<{ outbox_id: number | null; n: number }>`
    select max(outbox_id) as outbox_id, count(*) as n from (
      select outbox_id from sync_outbox where ${of.is} and state = 'ready' order by ${of.order} outbox_id limit ${sql.lit(limit)}) as few`)
  return row === null || row.outbox_id === null ? null : { outboxId: row.outbox_id, isFull: row.n === limit }
}
