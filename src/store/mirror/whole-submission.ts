import { sql } from 'kysely'
import { insureds } from '../../model/entities/insureds.ts'
import { marketEvents } from '../../model/entities/market-events.ts'
import { policies } from '../../model/entities/policies.ts'
import { threadAttachments } from '../../model/entities/thread-attachments.ts'
import { threadMessages } from '../../model/entities/thread-messages.ts'
import { entities } from '../../model/entities.ts'
import type { Entity, Row } from '../../model/entity.ts'
import { keyText } from '../../model/row-key.ts'
import type { Query } from '../engine/db.ts'
import { isAnswered, itsStream, ofPush, readyAs } from '../schema/push-states.ts'
import type { FreshnessView } from '../schema/reads.ts'
import { specWithoutRaw } from '../schema/table.ts'
import type { Columns } from '../schema/tables.ts'

/** Maximum rows of a submission to read per table. */
export const MOST_ROWS = 1_000

const OF_THE_TIMELINE: readonly Entity[] = [marketEvents, threadMessages, threadAttachments]

/** Tables with rows of a submission, except the tables whose records are in the timeline. */
export const wholeEntities: readonly Entity[] = entities.filter((entity) => !OF_THE_TIMELINE.includes(entity))

/** The rows of one table that belong to a submission. */
export interface WholeTable {
  readonly entity: Entity
  readonly rows: readonly Row[]
  /** true if the table has further rows of the submission. */
  readonly isCut: boolean
}

type Key = { readonly account: string; readonly submission_id: string }

/** Rows of a submission by table, including gone rows. Leaves out the column `raw`. */
export async function wholeSubmission(q: Query, key: Key): Promise<WholeTable[]> {
  const read = await Promise.all(wholeEntities.map((entity) => tableOf(q, entity, key)))
  const named = await namedElsewhere(q, read, key)
  return read.map((table) => {
    const more = named.get(table.entity) ?? []
    return more.length === 0 ? table : { ...table, rows: [...table.rows, ...more] }
  })
}

async function tableOf(q: Query, entity: Entity, { account, submission_id }: Key): Promise<WholeTable> {
  const rows = await q.selectOfSubmissions(specWithoutRaw(entity), account, [submission_id], MOST_ROWS + 1)
  const sorted = rows.sort((a, b) => (keyText(entity, a) < keyText(entity, b) ? -1 : 1))
  return { entity, rows: sorted.slice(0, MOST_ROWS), isCut: rows.length > MOST_ROWS }
}

/** Finds the submission's policies and insureds that are stored under another submission. */
async function namedElsewhere(q: Query, read: readonly WholeTable[], { account }: Key): Promise<Map<Entity, Row[]>> {
  const rowsOf = (table: string) => read.find(({ entity }) => entity.table === table)?.rows ?? []
  const found = new Map<Entity, Row[]>()
  for (const [entity, column, from] of [
    [policies, 'policy_id', rowsOf('bind_requests')],
    [insureds, 'insured_id', rowsOf('submissions')],
  ] as const) {
    const known = rowsOf(entity.table).map((row) => row[column])
    const ids = [...new Set(from.map((row) => row[column]))].filter((id) => typeof id === 'string' && !known.includes(id))
    const keys = ids.map((id): Row => ({ account, [column]: id ?? null }))
    if (keys.length > 0) found.set(entity, await q.selectMany(specWithoutRaw(entity), keys))
  }
  return found
}

/** Rows of the view `freshness` for a submission: one row for each read. */
export async function freshnessOf(q: Query, { account, submission_id }: Key): Promise<FreshnessView[]> {
  return await q.all(sql<FreshnessView>`
    select * from freshness where account = ${account} and submission_id = ${submission_id} order by read`)
}

/**
 * AMS client of a submission in each destination. `client` is null if no AMS client is known.
 * @template T the selected columns.
 */
export async function clientsOf<T>(q: Query, { account, submission_id }: Key): Promise<T[]> {
  return await q.all(sql<T>`
    select d.destination, d.state as destination_state, m.client, m.policy, m.mapped_at, m.mapped_via from sync_destinations d
    left join push_map m on m.destination = d.destination and m.account = ${account} and m.submission_id = ${submission_id}
    order by d.destination`)
}

/** Lists the extra reads of a submission: the name of each read, and the time of its newest answer. */
export async function extraReadsOf(q: Query, { account, submission_id }: Key): Promise<{ name: string; read_at: string }[]> {
  return await q.all(sql<Columns<'extra_reads', 'name' | 'read_at'>>`
    select name, read_at from extra_reads where account = ${account} and submission_id = ${submission_id} order by name`)
}

/**
 * For each destination, counts a submission's changes by push state, and its records by their newest verification
 * result. Includes destinations that are no longer served. Data that retention removed isn't counted.
 * @template T the selected columns.
 */
export async function reachedOf<T>(q: Query, { account, submission_id }: Key): Promise<T[]> {
  const ready = (is: string) => sql`sum(case when o.state = 'ready' and ${sql.raw(is)} then 1 else 0 end)`
  const ended = (state: string) => sql`sum(case when o.state = ${sql.lit(state)} then 1 else 0 end)`
  const answered = (result: string) => sql`sum(case when result = ${sql.lit(result)} then 1 else 0 end)`
  return await q.all(sql<T>`
    select d.destination, coalesce(f.delivered, 0) as delivered, f.last_delivered_at, coalesce(f.waiting, 0) as waiting, f.oldest_waiting_at,
      coalesce(f.unmapped, 0) as unmapped, coalesce(f.held, 0) as held, coalesce(f.dead, 0) as dead, coalesce(f.unknown, 0) as unknown,
      coalesce(f.skipped, 0) as skipped, coalesce(v.has, 0) as has, coalesce(v.lacks, 0) as lacks, coalesce(v.differs, 0) as differs, v.verified_at,
      (select count(*) from changes c where c.account = ${account} and c.submission_id = ${submission_id} and c.seq > d.cursor) as not_queued
    from sync_destinations d
    left join (
      select o.destination, count(distinct case when o.state = 'delivered' then o.message_id end) as delivered,
        max(${sql.raw(ofPush.deliveredAt)}) as last_delivered_at,
        ${ready('l.blocked is null')} as waiting, min(case when o.state = 'ready' then o.queued_at end) as oldest_waiting_at,
        ${ready(readyAs.unmapped)} as unmapped, ${ready(readyAs.held)} as held,
        ${ended('dead')} as dead, ${ended('unknown')} as unknown, ${ended('skipped')} as skipped
      from sync_outbox o
      left join sync_push_streams l on ${sql.raw(itsStream)}
      where o.account = ${account} and o.submission_id = ${submission_id}
        and o.state in ('ready', 'delivered', 'dead', 'unknown', 'skipped')
      group by o.destination) as f on f.destination = d.destination
    left join (
      select destination, min(verified_at) as verified_at, ${answered('has')} as has,
        sum(case when result = 'lacks' and repaired_at is null then 1 else 0 end) as lacks, ${answered('differs')} as differs
      from sync_push_verifications v where account = ${account} and submission_id = ${submission_id} and ${sql.raw(isAnswered)}
      group by destination) as v on v.destination = d.destination
    order by d.destination`)
}
