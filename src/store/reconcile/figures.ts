import { type RawBuilder, sql } from 'kysely'
import { entities } from '../../model/entities.ts'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'

/** Counts for reports. Each function reads all rows of an account, so call it only for a report, not from a timer. */

/**
 * Number of records of one table that first appeared in one time bucket and in one way (`via`). `at`: beginning of the
 * bucket, such as an hour.
 */
export interface SeenCount {
  readonly at: TimeText
  readonly via: string
  readonly entity: 'market_events' | 'thread_messages'
  readonly count: number
}

const DAY_MS = 86_400_000

/**
 * @returns how many characters of a time identify its bucket. The bucket is a second, minute, hour, or day, depending
 * on `spanMs`.
 */
function piecesOf(spanMs: number): number {
  if (spanMs < 90_000) return 19
  if (spanMs < 90 * 60_000) return 16
  return spanMs < 5 * DAY_MS ? 13 : 10
}

/** Condition: `first_seen_at` is a time in the years 1 to 9999. */
function isSeen(q: Query): RawBuilder<boolean> {
  return q.kind === 'sqlite'
    ? sql<boolean>`datetime(first_seen_at) is not null`
    : sql<boolean>`first_seen_at >= '0001-01-01T00:00:00Z' and first_seen_at < '10000-01-01T00:00:00Z'`
}

/** Counts an account's events and messages by when and how they first appeared. */
export async function countFirstSeen(q: Query, account: string): Promise<SeenCount[]> {
  const rows = await q.all(sql<{ first: TimeText | null; last: TimeText | null }>`
    select min(first_seen_at) as first, max(first_seen_at) as last from (
      select first_seen_at from market_events where account = ${account} and ${isSeen(q)}
      union all select first_seen_at from thread_messages where account = ${account} and ${isSeen(q)}) as seen`)
  const [first, last] = [rows[0]?.first ?? null, rows[0]?.last ?? null]
  if (first === null || last === null) return []
  const chars = piecesOf(msFromTime(last) - msFromTime(first))
  const counts: SeenCount[] = []
  for (const entity of ['market_events', 'thread_messages'] as const) {
    const piece =
      q.kind === 'sqlite'
        ? sql<string>`substr(first_seen_at, 1, ${sql.lit(chars)})`
        : sql<string>`substr(to_char(first_seen_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS'), 1, ${sql.lit(chars)})`
    const grouped = await q.all(sql<{ piece: string; via: string | null; n: number }>`
      select ${piece} as piece, first_seen_via as via, count(*) as n from ${sql.table(entity)}
      where account = ${account} and ${isSeen(q)} group by 1, 2 order by 1, 2`)
    counts.push(...grouped.map((row) => ({ at: beginningOf(row.piece), via: row.via ?? 'unknown', entity, count: row.n })))
  }
  return counts
}

function beginningOf(piece: string): TimeText {
  return timeFromMs(Date.parse(`${piece}${'0000-01-01T00:00:00Z'.slice(piece.length)}`))
}

export interface MirrorFigures {
  readonly database: Query['kind']
  readonly schemaVersion: number
  readonly logEpoch: string
  readonly firstSeq: number
  readonly lastSeq: number
  readonly submissions: number
  /** Number of submissions that the service no longer shows. */
  readonly unreachable: number
  /** Numbers of submissions by what made the mirror track them, such as `webhook` or `command`. */
  readonly trackedVia: readonly { readonly via: string; readonly submissions: number }[]
  /** Number of the account's rows in each table, except rows that are gone. */
  readonly tables: readonly { readonly table: string; readonly rows: number }[]
}

export async function mirrorFigures(q: Query, account: string): Promise<MirrorFigures> {
  const info = await q.sql.selectFrom('mirror_info').selectAll().executeTakeFirstOrThrow()
  const rows = await q.all(sql<{ via: string | null; n: number; away: number }>`
    select tracked_via as via, count(*) as n, count(unreachable_since) as away from submissions
    where account = ${account} group by tracked_via order by tracked_via`)
  return {
    database: q.kind,
    schemaVersion: info.schema_version,
    logEpoch: info.log_epoch,
    firstSeq: info.first_seq,
    lastSeq: info.last_seq,
    submissions: rows.reduce((total, { n }) => total + n, 0),
    unreachable: rows.reduce((total, { away }) => total + away, 0),
    trackedVia: rows.map(({ via, n }) => ({ via: via ?? 'unknown', submissions: n })),
    tables: await rowsByTable(q, account),
  }
}

async function rowsByTable(q: Query, account: string): Promise<MirrorFigures['tables']> {
  const counts = entities.map(({ table, fields }) => {
    const isThere = 'gone_at' in fields ? sql` and gone_at is null` : sql``
    return sql`select ${sql.lit(table)} as "table", count(*) as rows from ${sql.table(table)} where account = ${account}${isThere}`
  })
  return await q.all(sql<{ table: string; rows: number }>`${sql.join(counts, sql` union all `)}`)
}
