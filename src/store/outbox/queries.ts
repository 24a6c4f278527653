import { type RawBuilder, sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { accountsIn, dbTime, timeValue, unindexed } from '../engine/sql.ts'
import { numberIn } from '../inbox/queries.ts'
import type { OutboxState, PushStatusView } from '../schema/tables-push.ts'
import { closeEmptyLanes, type LaneKey, LaneTotals, type LockedLane, lanesOf, laneText, lockLanes, openLanes } from './lanes.ts'
import { amongIds, ID_NOT_KNOWN } from './rows.ts'

/** Which rows of the outbox are meant; what is left out does not narrow. */
export interface OutboxFilter {
  readonly destination?: string | undefined
  readonly account?: string | undefined
  readonly submissionId?: string | undefined
  readonly state?: OutboxState | undefined
  /** Queued at or after. */
  readonly since?: TimeText | undefined
  /** Queued before. */
  readonly until?: TimeText | undefined
  /** Only those behind the one of this number in the list: older ones. */
  readonly after?: number | undefined
}

/** A row as lists show it; `state` as in the view push_status (`waiting`, `retrying`, `unmapped`, `held` for what is ready). */
export interface OutboxEntry extends PushStatusView {
  readonly outbox_id: number
  readonly lane: string
  readonly detail: string | null
}

const ENTRY = sql`
  select o.outbox_id, o.destination, d.state as destination_state, o.account, o.lane, o.submission_id, o.entity, o.entity_id, o.operation,
    o.seq, o.message_id,
    case when o.state <> 'ready' then o.state when l.blocked is not null then l.blocked when o.attempts > 0 then 'retrying' else 'waiting' end as state,
    o.attempts, o.queued_at, o.tried_at,
    case when o.state <> 'ready' or l.blocked is not null or d.state <> 'active' then null
      when d.retry_at > l.due_at then d.retry_at else l.due_at end as next_try_at,
    case when o.state = 'delivered' then o.settled_at end as delivered_at, o.status, o.detail, o.error, r.remote_id`
const JOINED = sql`
  join sync_destinations d on d.destination = o.destination
  left join sync_push_lanes l on l.destination = o.destination and l.account = o.account and l.lane = o.lane
  left join sync_remote_ids r on r.destination = o.destination and r.account = o.account and r.entity = o.entity and r.entity_id = o.entity_id`

/** As what a ready row is shown: see ENTRY. */
const READY_AS = {
  waiting: sql`l.blocked is null and o.attempts = 0`,
  retrying: sql`l.blocked is null and o.attempts > 0`,
  unmapped: sql`l.blocked = 'unmapped'`,
  held: sql`l.blocked = 'held'`,
} as const

/** What a row can be, and as what a ready one is shown. */
export const listedStates = ['ready', 'waiting', 'retrying', 'unmapped', 'held', 'delivered', 'dead', 'unknown', 'skipped'] as const
export type ListedState = (typeof listedStates)[number]

/** Rows that the filter names, the newest first. */
export async function listOutbox(
  q: Query,
  { state, ...others }: Omit<OutboxFilter, 'state'> & { readonly state?: ListedState | undefined },
  limit: number,
): Promise<OutboxEntry[]> {
  const [stored, shown] = isReadyAs(state) ? (['ready', READY_AS[state]] as const) : [state, sql`1 = 1`]
  const filter = { ...others, state: stored }
  const { rows } = await sql<OutboxEntry>`
    ${ENTRY} from sync_outbox o ${JOINED} where ${matches(q, filter)} and ${shown}
    order by ${place(q, filter)} desc limit ${sql.lit(limit)}`.execute(q.sql)
  return rows
}

function isReadyAs(state: ListedState | undefined): state is keyof typeof READY_AS {
  return state !== undefined && state in READY_AS
}

/** The rows of that message id (one for each destination that gets it), or the one of that outbox id when `id` is a number. */
export async function findOutboxRows(q: Query, id: string): Promise<OutboxEntry[]> {
  const outboxId = numberIn(id)
  const which = outboxId === null ? sql`o.message_id = ${id.toLowerCase()}` : sql`o.outbox_id = ${outboxId}`
  const { rows } = await sql<OutboxEntry>`${ENTRY} from sync_outbox o ${JOINED} where ${which} order by o.outbox_id`.execute(q.sql)
  return rows
}

/**
 * The state stands in the text, so that the databases use the index that holds only rows of that state.
 * @param byState the rows are those of states with an index, which serves better than that of the account.
 */
function matches(q: Query, filter: OutboxFilter, byState = isIndexed(filter.state)) {
  const conditions = [sql`1 = 1`]
  const ofSubmission = filter.submissionId !== undefined
  if (filter.destination !== undefined) conditions.push(sql`o.destination = ${filter.destination}`)
  const account = byState && !ofSubmission ? unindexed(q, 'o.account') : sql`o.account`
  if (filter.account !== undefined) conditions.push(sql`${account} = ${filter.account}`)
  else if (ofSubmission) conditions.push(sql`o.account in ${accountsIn('sync_outbox')}`)
  if (ofSubmission) conditions.push(sql`o.submission_id = ${filter.submissionId}`)
  if (filter.state !== undefined) conditions.push(sql`o.state = ${sql.lit(filter.state)}`)
  if (filter.state !== undefined && STOPPED.includes(filter.state)) conditions.push(sql`o.state in ('dead', 'unknown', 'skipped')`)
  if (filter.since !== undefined) conditions.push(sql`o.queued_at >= ${timeValue(q, filter.since)}`)
  if (filter.until !== undefined) conditions.push(sql`o.queued_at < ${timeValue(q, filter.until)}`)
  if (filter.after !== undefined) conditions.push(sql`${place(q, filter)} < ${filter.after}`)
  return sql.join(conditions, sql` and `)
}

/**
 * A row's place in the list: by its number, unless its submission or its state has an index. Of one destination the index of a state is in
 * the order of the numbers.
 */
function place(q: Query, { state, destination, submissionId }: OutboxFilter): RawBuilder<unknown> {
  const byIndex = submissionId !== undefined || (isIndexed(state) && destination === undefined)
  return byIndex ? unindexed(q, 'o.outbox_id') : sql`o.outbox_id`
}

function isIndexed(state: OutboxState | undefined): boolean {
  return state !== undefined && state !== 'delivered'
}

const STOPPED: readonly OutboxState[] = ['dead', 'unknown', 'skipped']

/**
 * What one step did. `inFlight`: rows left alone, because a process is sending from their lanes. `nextAfter`: where the next step begins;
 * null at the end.
 */
export interface OutboxStep {
  readonly changed: number
  readonly inFlight: number
  readonly nextAfter: number | null
}

/** Which rows a command is about: those of a filter, or these. */
export type OutboxSelection = OutboxFilter | { readonly outboxIds: readonly number[] }

/** A row that a command is about, as it was when it was looked for. */
interface Chosen extends LaneKey {
  readonly outbox_id: number
  readonly state: OutboxState
}

/**
 * Makes rows that were given up ready again, untried, at their old place in their lanes; a lane that one of them held goes on. With an
 * insert go the changes of its record that were skipped for want of it. A filter that names no state means those that are dead or whose
 * outcome is unknown. One step of up to `limit` rows behind `after` (0 to begin), with what goes with them; of one row all of that.
 * @param lookers destinations that can be asked what they have: a row that may have arrived there keeps its mark, so that it is looked for
 * before it is sent.
 */
export async function retryRows(
  db: Db,
  selection: OutboxSelection,
  after: number,
  limit: number,
  lookers: readonly string[] = [],
): Promise<OutboxStep> {
  const found = await choose(db.read, selection, ['dead', 'unknown', 'skipped'], after, limit)
  const chosen = await fitting(db.read, found, limit)
  const changed = await db.write('outbox-retry', async (tx) => {
    const lanes = lanesOf(chosen)
    await openLanes(tx, lanes)
    const locked = await lockLanes(tx, lanes)
    const rows = await lockRows(tx, [...chosen, ...(await followersOf(tx, chosen))], ['dead', 'unknown', 'skipped'])
    const looks = new Set(lookers)
    const again = sql`state = 'ready', attempts = 0, status = null, detail = null, error = null, settled_at = null`
    await setRows(
      tx,
      rows.filter(({ destination }) => !looks.has(destination)),
      sql`${again}, uncertain = 0`,
    )
    await setRows(
      tx,
      rows.filter(({ destination }) => looks.has(destination)),
      again,
    )
    await letGo(tx, locked, rows)
    await finish(tx, locked, rows, 'ready')
    return rows.length
  })
  return { changed, inFlight: 0, nextAfter: chosen.length < found.length ? lastOf(chosen) : nextAfter(found, limit) }
}

/**
 * Gives rows up for good, ready ones too unless they may just be sent; a lane that one of them held goes on. A filter that names no state
 * means those that are dead or whose outcome is unknown. In steps, as `retryRows`.
 */
export async function skipRows(db: Db, selection: OutboxSelection, after: number, limit: number): Promise<OutboxStep> {
  const chosen = await choose(db.read, selection, ['ready', 'dead', 'unknown'], after, limit)
  const { changed, inFlight } = await db.write('outbox-skip', async (tx) => {
    const locked = await lockLanes(tx, lanesOf(chosen))
    const free = new Set(locked.filter((lane) => lane.in_flight === 0).map(laneText))
    const found = await lockRows(tx, chosen, ['ready', 'dead', 'unknown'])
    const rows = found.filter((row) => row.state !== 'ready' || free.has(laneText(row)))
    await setRows(tx, rows, sql`state = 'skipped', settled_at = ${dbTime(tx)}`)
    await letGo(tx, locked, rows)
    await finish(tx, locked, rows, 'skipped')
    return { changed: rows.length, inFlight: found.length - rows.length }
  })
  return { changed, inFlight, nextAfter: nextAfter(chosen, limit) }
}

function nextAfter(chosen: readonly Chosen[], limit: number): number | null {
  return chosen.length < limit ? null : lastOf(chosen)
}

function lastOf(chosen: readonly Chosen[]): number | null {
  return chosen.at(-1)?.outbox_id ?? null
}

async function choose(
  q: Query,
  selection: OutboxSelection,
  states: readonly OutboxState[],
  after: number,
  limit: number,
): Promise<Chosen[]> {
  const named = 'outboxIds' in selection
  if (named && selection.outboxIds.length === 0) return []
  if (!named && selection.state !== undefined && !states.includes(selection.state)) return []
  const implied = named || selection.state !== undefined ? states : (['dead', 'unknown'] as const)
  const stopped = implied.every((state) => STOPPED.includes(state)) ? sql`and o.state in ('dead', 'unknown', 'skipped')` : sql``
  const which = named ? sql`o.outbox_id in ${amongIds(q, selection.outboxIds)}` : matches(q, selection, true)
  const number = named ? sql`o.outbox_id` : place(q, { ...selection, state: implied[0] })
  const { rows } = await sql<Chosen>`
    select o.outbox_id, o.destination, o.account, o.lane, o.state from sync_outbox o
    where ${which} and o.state in (${sql.join(implied.map((state) => sql.lit(state)))}) ${stopped} and ${number} > ${after}
    order by ${number} limit ${sql.lit(limit)}`.execute(q.sql)
  return rows
}

/** As many of the rows as make, with what goes with them, no more than `limit`, so that the transaction stays short; one at least. */
async function fitting(q: Query, chosen: readonly Chosen[], limit: number): Promise<readonly Chosen[]> {
  if (chosen.length < 2) return chosen
  const { rows } = await sql<{ outbox_id: number; n: number }>`
    select i.outbox_id, count(*) as n ${followers(q, chosen)} group by i.outbox_id`.execute(q.sql)
  const behind = new Map(rows.map(({ outbox_id, n }) => [outbox_id, Number(n)]))
  let total = 0
  const end = chosen.findIndex(({ outbox_id }, position) => {
    total += 1 + (behind.get(outbox_id) ?? 0)
    return position > 0 && total > limit
  })
  return end === -1 ? chosen : chosen.slice(0, end)
}

async function followersOf(tx: Tx, chosen: readonly Chosen[]): Promise<Chosen[]> {
  if (chosen.length === 0) return []
  const { rows } = await sql<Chosen>`
    select f.outbox_id, f.destination, f.account, f.lane, f.state ${followers(tx, chosen)}`.execute(tx.sql)
  return rows
}

/** `f`: the changes of a submission's records that were skipped because the inserts `i` among `chosen` were not taken. */
function followers(q: Query, chosen: readonly Chosen[]): RawBuilder<unknown> {
  const inserts = sql`select * from sync_outbox where outbox_id in ${amongIds(q, chosen.map(idOf))} and operation = 'insert'`
  const follows = sql`
    f.account = i.account and f.submission_id = i.submission_id and f.outbox_id > i.outbox_id
    and f.destination = i.destination and f.entity = i.entity and f.entity_id = i.entity_id
    and f.state = 'skipped' and f.error = ${ID_NOT_KNOWN}`
  if (q.kind === 'sqlite') return sql`from (${inserts}) i join sync_outbox f on ${follows}`
  // From each insert to what follows it: of a queue that has just filled Postgres knows nothing yet, and may go the other way, which takes
  // the square of the time.
  return sql`from (${inserts} offset 0) i cross join lateral (select * from sync_outbox f where ${follows} offset 0) f`
}

/** The chosen rows as they are now that nobody can change them, as far as they are still in one of `states`. */
async function lockRows(tx: Tx, chosen: readonly Chosen[], states: readonly OutboxState[]): Promise<Chosen[]> {
  if (chosen.length === 0) return []
  const lock = tx.kind === 'postgres' ? sql`for update` : sql``
  const { rows } = await sql<Chosen>`
    select outbox_id, destination, account, lane, state from sync_outbox
    where outbox_id in ${amongIds(tx, chosen.map(idOf))} order by outbox_id ${lock}`.execute(tx.sql)
  return rows.filter((row) => states.includes(row.state))
}

async function setRows(tx: Tx, rows: readonly Chosen[], set: ReturnType<typeof sql>): Promise<void> {
  if (rows.length === 0) return
  await sql`update sync_outbox set ${set} where outbox_id in ${amongIds(tx, rows.map(idOf))}`.execute(tx.sql)
}

function idOf(row: Chosen): number {
  return row.outbox_id
}

/**
 * Lanes that one of the rows held go on; of the others, those that nobody sends from are due at once. A lease that has ended is taken away,
 * so that whoever had it writes nothing over this.
 */
async function letGo(tx: Tx, locked: readonly LockedLane[], rows: readonly Chosen[]): Promise<void> {
  const touched = new Set(rows.map(laneText))
  const ids = new Set(rows.map(idOf))
  for (const lane of locked) {
    if (!touched.has(laneText(lane)) || lane.in_flight === 1) continue
    const held = lane.held_by !== null && !ids.has(lane.held_by)
    await sql`
      update sync_push_lanes set lease_token = null, due_at = ${dbTime(tx)}
        ${held || lane.blocked === 'unmapped' ? sql`` : sql`, blocked = null, held_by = null`}
      where destination = ${lane.destination} and account = ${lane.account} and lane = ${lane.lane}`.execute(tx.sql)
  }
}

async function finish(tx: Tx, locked: readonly LockedLane[], rows: readonly Chosen[], to: OutboxState): Promise<void> {
  await closeEmptyLanes(tx, locked)
  const tallies = new LaneTotals()
  for (const row of rows) tallies.move(row.destination, row.state, to)
  await tallies.write(tx)
  wake(tx, 'outbox')
}
