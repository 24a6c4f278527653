import { isOfReason } from '../../model/failure-reasons.ts'
import { haveText } from '../../model/search-words.ts'
import type { Query } from '../engine/db.ts'
import { searchRows } from '../engine/search-rows.ts'
import { listOutbox, type OutboxEntry, type OutboxListFilter } from './queries.ts'

/** What no index finds. */
export interface OutboxSearch {
  /** A part of its table and operation, its ids, its failure, its insured or its submission's id, in any case and without accents. */
  readonly text?: string | undefined
  /** The reason of its failure, as `reasonOf` gives it. */
  readonly reason?: string | undefined
  /** The failure of a row, as whoever searches may see it. */
  readonly errorOf: (row: OutboxEntry) => string | null
}

/** Looks through the rows that a filter matches; see `searchRows`. */
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
