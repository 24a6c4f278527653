import { type RawBuilder, sql } from 'kysely'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import type { FindingKind } from '../schema/tables-reconcile.ts'

/*
 * Figures for reports. They look at every row of an account: for people who ask, not for a timer.
 */

/** Findings of one run, kind and table. */
export interface FindingCount {
  readonly kind: FindingKind
  readonly standing: boolean
  readonly entity: string | null
  readonly total: number
  readonly repaired: number
}

export async function countFindings(q: Query, runId: string): Promise<FindingCount[]> {
  return q.sql
    .selectFrom('reconcile_findings')
    .select((eb) => ['kind', 'standing', 'entity', eb.fn.countAll<number>().as('total'), eb.fn.count<number>('repaired_at').as('repaired')])
    .where('run_id', '=', runId)
    .groupBy(['kind', 'standing', 'entity'])
    .orderBy('kind')
    .orderBy('standing')
    .orderBy('entity')
    .execute()
}

/** Records of one table that were first seen in the same stretch of time, the same way. */
export interface SeenCount {
  /** The beginning of the stretch, UTC. */
  readonly at: TimeText
  readonly via: string
  readonly entity: 'market_events' | 'thread_messages'
  readonly count: number
}

const DAY_MS = 86_400_000

/** How much of a time's text counts, so that the answer is small: up to its second, minute, hour or day. */
function piecesOf(spanMs: number): number {
  if (spanMs < 90_000) return 19
  if (spanMs < 90 * 60_000) return 16
  return spanMs < 5 * DAY_MS ? 13 : 10
}

/** Whether a row's time of being first seen is one, and not what else a hand may have put there. */
function isSeen(q: Query): RawBuilder<boolean> {
  return q.kind === 'sqlite'
    ? sql<boolean>`typeof(first_seen_at) = 'text' and length(first_seen_at) = 27 and datetime(first_seen_at) is not null`
    : sql<boolean>`first_seen_at >= '0001-01-01T00:00:00Z' and first_seen_at < '10000-01-01T00:00:00Z'`
}

/** Events and messages of an account by how and about when they were first seen: to the second, minute, hour or day, as the span allows. */
export async function countFirstSeen(q: Query, account: string): Promise<SeenCount[]> {
  const { rows } = await sql<{ first: TimeText | null; last: TimeText | null }>`
    select min(first_seen_at) as first, max(first_seen_at) as last from (
      select first_seen_at from market_events where account = ${account} and ${isSeen(q)}
      union all select first_seen_at from thread_messages where account = ${account} and ${isSeen(q)}) as seen`.execute(q.sql)
  const [first, last] = [rows[0]?.first ?? null, rows[0]?.last ?? null]
  if (first === null || last === null) return []
  const chars = piecesOf(msFromTime(last) - msFromTime(first))
  const counts: SeenCount[] = []
  for (const entity of ['market_events', 'thread_messages'] as const) {
    const piece =
      q.kind === 'sqlite'
        ? sql<string>`substr(first_seen_at, 1, ${sql.lit(chars)})`
        : sql<string>`substr(to_char(first_seen_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS'), 1, ${sql.lit(chars)})`
    const grouped = await sql<{ piece: string; via: string | null; n: number }>`
      select ${piece} as piece, first_seen_via as via, count(*) as n from ${sql.table(entity)}
      where account = ${account} and ${isSeen(q)} group by 1, 2 order by 1, 2`.execute(q.sql)
    counts.push(...grouped.rows.map((row) => ({ at: beginningOf(row.piece), via: row.via ?? 'unknown', entity, count: row.n })))
  }
  return counts
}

/** The moment at which a stretch of time begins that is named by the first characters of its times. */
function beginningOf(piece: string): TimeText {
  return timeFromMs(Date.parse(`${piece}${'0000-01-01T00:00:00Z'.slice(piece.length)}`))
}

/** The mirror's own figures. */
export interface MirrorFigures {
  readonly database: Query['kind']
  readonly schemaVersion: number
  readonly logEpoch: string
  readonly firstSeq: number
  readonly lastSeq: number
  /** Known submissions of the account. */
  readonly submissions: number
  /** Of which the service did not show lately. */
  readonly unreachable: number
  /** How submissions became known: `webhook`, `command` and so on. */
  readonly trackedVia: readonly { readonly via: string; readonly submissions: number }[]
}

export async function mirrorFigures(q: Query, account: string): Promise<MirrorFigures> {
  const info = await q.sql.selectFrom('mirror_info').selectAll().executeTakeFirstOrThrow()
  const { rows } = await sql<{ via: string | null; n: number; away: number }>`
    select tracked_via as via, count(*) as n, count(unreachable_since) as away from submissions
    where account = ${account} group by tracked_via order by tracked_via`.execute(q.sql)
  return {
    database: q.kind,
    schemaVersion: info.schema_version,
    logEpoch: info.log_epoch,
    firstSeq: info.first_seq,
    lastSeq: info.last_seq,
    submissions: rows.reduce((total, { n }) => total + n, 0),
    unreachable: rows.reduce((total, { away }) => total + away, 0),
    trackedVia: rows.map(({ via, n }) => ({ via: via ?? 'unknown', submissions: n })),
  }
}
