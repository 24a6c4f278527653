import { sql } from 'kysely'
import { insureds } from '../../model/entities/insureds.ts'
import { marketEvents } from '../../model/entities/market-events.ts'
import { policies } from '../../model/entities/policies.ts'
import { threadAttachments } from '../../model/entities/thread-attachments.ts'
import { threadMessages } from '../../model/entities/thread-messages.ts'
import { entities } from '../../model/entities.ts'
import type { Entity, Row } from '../../model/entity.ts'
import type { Query } from '../engine/db.ts'
import type { FreshnessView } from '../schema/reads.ts'
import { specWithoutRaw } from '../schema/table.ts'

/** Rows of one table that are read at most. */
export const MOST_ROWS = 1_000

/** What its own list has: the timeline. */
const OF_THE_TIMELINE: readonly Entity[] = [marketEvents, threadMessages, threadAttachments]

/** The tables of a submission, without what stands in its timeline. */
export const wholeEntities: readonly Entity[] = entities.filter((entity) => !OF_THE_TIMELINE.includes(entity))

/** The rows of one table that belong to a submission. */
export interface WholeTable {
  readonly entity: Entity
  readonly rows: readonly Row[]
  /** Whether there are more. */
  readonly isCut: boolean
}

type Key = { readonly account: string; readonly submission_id: string }

/** All rows of a submission by table, what is gone too, without the service's own objects. */
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
  const sorted = rows.sort((a, b) => (textOf(entity, a) < textOf(entity, b) ? -1 : 1))
  return { entity, rows: sorted.slice(0, MOST_ROWS), isCut: rows.length > MOST_ROWS }
}

/** A policy or an insured stands under the submission that named it first; others name it too. */
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

function textOf(entity: Entity, row: Row): string {
  return JSON.stringify(entity.key.map((column) => row[column] ?? null))
}

/** How old each read of a submission is. */
export async function freshnessOf(q: Query, { account, submission_id }: Key): Promise<FreshnessView[]> {
  return await q.sql
    .selectFrom('freshness')
    .selectAll()
    .where('account', '=', account)
    .where('submission_id', '=', submission_id)
    .orderBy('read')
    .execute()
}

/** The client of a submission in each destination; null where none is known. @template T the columns that are read. */
export async function clientsOf<T>(q: Query, { account, submission_id }: Key): Promise<T[]> {
  const { rows } = await sql<T>`
    select d.destination, d.state as destination_state, m.client, m.policy, m.mapped_at, m.mapped_via from sync_destinations d
    left join push_map m on m.destination = d.destination and m.account = ${account} and m.submission_id = ${submission_id}
    order by d.destination`.execute(q.sql)
  return rows
}

/** The last answer of each extra read, without the answer itself. */
export async function extraReadsOf(q: Query, { account, submission_id }: Key): Promise<{ name: string; read_at: string }[]> {
  return await q.sql
    .selectFrom('extra_reads')
    .select(['name', 'read_at'])
    .where('account', '=', account)
    .where('submission_id', '=', submission_id)
    .orderBy('name')
    .execute()
}
