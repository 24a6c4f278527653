import { type RawBuilder, sql } from 'kysely'
import { mainReads } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { valuesTable } from '../engine/sql.ts'
import type { Columns } from '../schema/tables.ts'

type Key = { readonly account: string; readonly submission_id: string }

interface Overview
  extends Key,
    Columns<'submission_overview', 'insured_name' | 'lines' | 'state' | 'effective_date' | 'marketing_status' | 'bind_status'>,
    Columns<'submission_overview', 'documents_held' | 'documents_missing' | 'unreachable_since'> {
  readonly last_activity_at: TimeText | null
  readonly stage: string
  readonly tracked_at: TimeText
  readonly reconciled_at: TimeText | null
}

interface Lane extends Key, Columns<'lanes', 'lane_id' | 'market_name' | 'status' | 'status_label' | 'chip' | 'bound'> {
  readonly category: string | null
}

interface Quote extends Key {
  readonly lane_id: string
  readonly quote_id: string
  readonly market_name: string | null
  readonly total_cents: number
  readonly premium_display: string | null
}

type OpenItem = Key & Columns<'open_items', 'source' | 'item_key' | 'label' | 'bind_request_id'>

type Offer = Key & Columns<'source_offers', 'lane_id' | 'kind'>

interface Queued extends Key {
  readonly waiting: number
  readonly unmapped: number
  readonly held: number
  readonly dead: number
}

type Read = Key & Columns<'sync_reads', 'last_read_at'>

/** Reads submissions as list items, in the order of `keys`. Leaves out missing submissions. */
export async function submissionItems(q: Query, keys: readonly Key[]) {
  if (keys.length === 0) return []
  const rowsOf = <T>(columns: RawBuilder<unknown>, from: RawBuilder<unknown>, how?: How) => rowsOfEach<T>(q, keys, columns, from, how)
  // Without this hint, SQLite would scan the account's whole outbox.
  const byIndex = q.kind === 'sqlite' ? sql`indexed by sync_outbox_submission` : sql``
  const [overviews, lanes, quotes, offers, openItems, reads, queued, sent] = await Promise.all([
    rowsOf<Overview>(OVERVIEW, sql`submission_overview x where true`),
    rowsOf<Lane>(
      sql`x.account, x.submission_id, x.lane_id, x.market_name, x.program_category as category, x.status, x.status_label, x.chip, x.bound`,
      sql`lanes x where x.gone_at is null`,
      { order: sql`market_name, lane_id` },
    ),
    rowsOf<Quote>(
      sql`x.account, x.submission_id, x.lane_id, x.quote_id, x.market_name, x.total_cents, x.premium_display`,
      sql`quote_board x where x.may_be_superseded is not true and x.total_cents is not null`,
      { order: sql`total_cents, lane_id, quote_id` },
    ),
    rowsOf<Offer>(sql`x.account, x.submission_id, x.lane_id, x.kind`, sql`source_offers x where x.gone_at is null`),
    rowsOf<OpenItem>(sql`x.account, x.submission_id, x.source, x.item_key, x.label, x.bind_request_id`, sql`open_items x where true`),
    rowsOf<Read>(
      sql`x.account, x.submission_id, x.last_read_at`,
      sql`sync_reads x where x.id = '' and x.read in (${sql.join(mainReads.map((read) => sql.lit(read)))})`,
    ),
    rowsOf<Queued>(
      sql`x.account, x.submission_id, sum(case when x.state = 'ready' and l.blocked is null then 1 else 0 end) as waiting,
        sum(case when x.state = 'ready' and l.blocked = 'unmapped' then 1 else 0 end) as unmapped,
        sum(case when x.state = 'ready' and l.blocked = 'held' then 1 else 0 end) as held,
        sum(case when x.state <> 'ready' then 1 else 0 end) as dead`,
      sql`sync_outbox x ${byIndex} left join sync_push_streams l on l.destination = x.destination and l.account = x.account and l.stream = x.stream
        where x.state in ('ready', 'dead', 'unknown')`,
      { group: sql`x.account, x.submission_id` },
    ),
    rowsOf<Key>(
      sql`x.account, x.submission_id`,
      sql`submissions x where exists (
        select 1 from sync_outbox o where o.account = x.account and o.submission_id = x.submission_id and o.state = 'delivered')`,
    ),
  ])
  const by = { lanes: grouped(lanes), quotes: grouped(quotes), offers: grouped(offers), items: grouped(openItems), reads: grouped(reads) }
  const [waiting, isSent] = [grouped(queued), new Set(sent.map(nameOf))]
  const found = grouped(overviews)
  return keys.flatMap((key) => {
    const name = nameOf(key)
    const [row] = found.get(name) ?? []
    if (row === undefined) return []
    const own = {
      lanes: by.lanes.get(name) ?? [],
      quotes: by.quotes.get(name) ?? [],
      offers: by.offers.get(name) ?? [],
      items: by.items.get(name) ?? [],
    }
    return [{ ...itemOf(row, own, by.reads.get(name) ?? []), pushed: pushedOf(waiting.get(name)?.[0], isSent.has(name)) }]
  })
}

/**
 * Counts a submission's unfinished changes in the outbox by push state, over all destinations. `dead` includes unknown.
 * @returns null if the outbox has no unfinished and no delivered change of the submission.
 */
function pushedOf(queued: Queued | undefined, isSent: boolean) {
  if (queued === undefined && !isSent) return null
  const { waiting = 0, unmapped = 0, held = 0, dead = 0 } = queued ?? {}
  return { waiting, unmapped, held, dead }
}

interface Own {
  readonly lanes: readonly Lane[]
  readonly quotes: readonly Quote[]
  readonly offers: readonly Offer[]
  readonly items: readonly OpenItem[]
}

function itemOf({ last_activity_at, ...row }: Overview, { lanes, quotes, offers, items }: Own, reads: readonly Read[]) {
  const times = reads.map((read) => read.last_read_at).filter((time) => time !== null)
  return {
    ...row,
    lanes: lanes.map(({ account: _, submission_id: __, ...chip }) => chip),
    best_quote: bestQuoteOf(quotes, offers),
    // An item that several markets request counts once.
    outstanding_count: new Set(items.map((item) => JSON.stringify([item.source, item.item_key, item.label, item.bind_request_id]))).size,
    moved_at: last_activity_at ?? row.tracked_at,
    oldest_read_at: times.length < mainReads.length ? null : (times.sort()[0] ?? null),
  }
}

function bestQuoteOf([best]: readonly Quote[], offers: readonly Offer[]) {
  if (best === undefined) return null
  const { account: _, submission_id: __, ...quote } = best
  const kinds = offers.filter((offer) => offer.lane_id === quote.lane_id).map(({ kind }) => kind)
  const kind = kinds.includes('quote') ? ('firm' as const) : kinds.includes('indication') ? ('indication' as const) : null
  return { ...quote, kind }
}

const OVERVIEW = sql`x.account, x.submission_id, x.insured_name, x.lines, x.state, x.effective_date, x.marketing_status, x.bind_status,
  x.documents_held, x.documents_missing, x.last_activity_at, x.unreachable_since, x.stage,
  (select s.tracked_at from submissions s where s.account = x.account and s.submission_id = x.submission_id) as tracked_at,
  (select p.reconciled_at from sync_reconciled p where p.account = x.account and p.submission_id = x.submission_id) as reconciled_at`

interface How {
  readonly order?: RawBuilder<unknown>
  readonly group?: RawBuilder<unknown>
}

/** Reads rows of the submissions in `keys`. @param from SQL: a table or view as `x`, and a `where`. */
async function rowsOfEach<T>(
  q: Query,
  keys: readonly Key[],
  columns: RawBuilder<unknown>,
  from: RawBuilder<unknown>,
  { order, group }: How = {},
): Promise<T[]> {
  const pairs = keys.map(({ account, submission_id }) => ({ account, submission_id }))
  const given = valuesTable(q, { account: 'text', submission_id: 'text' }, pairs)
  // Without `order`, the rows aren't sorted. To sort them by key, SQLite would scan the `sync_reads` of every
  // submission.
  const ordered = order === undefined ? sql`` : sql` order by ${order}`
  const grouping = group === undefined ? sql`` : sql` group by ${group}`
  const statement =
    q.kind === 'sqlite'
      ? sql<T>`select ${columns} from ${from} and (x.account, x.submission_id) in (select given.account, given.submission_id from ${given})${grouping}${ordered}`
      : // Without `offset 0`, Postgres might read whole tables and hash them.
        sql<T>`select found.* from ${given} cross join lateral (select ${columns} from ${from}
          and x.account = given.account and x.submission_id = given.submission_id${grouping} offset 0) as found${ordered}`
  return await q.all(statement)
}

function grouped<T extends Key>(rows: readonly T[]): Map<string, T[]> {
  return Map.groupBy(rows, nameOf)
}

function nameOf({ account, submission_id }: Key): string {
  return `${account} ${submission_id}`
}
