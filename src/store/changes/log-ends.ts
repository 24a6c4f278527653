import { sql } from 'kysely'
import type { Db, Query, Tx } from '../engine/db.ts'

/**
 * A number in `mirror_info` that doesn't match the rows of the change log, because someone edited the number by hand.
 */
export interface WrongEnd {
  readonly column: 'first_seq' | 'last_seq'
  readonly stored: number
  readonly actual: number
}

export function wrongEndText({ column, stored, actual }: WrongEnd): string {
  return `mirror_info.${column} was set to ${stored}, and the ${column === 'last_seq' ? 'newest' : 'oldest'} change is ${actual}`
}

/**
 * Finds a wrong `first_seq` or `last_seq` in `mirror_info`. A number that isn't an integer is wrong. `first_seq` is
 * wrong if the change log has an earlier row. `last_seq` is wrong if the change log has a later row. If the change log
 * is empty, a `last_seq` below `first_seq - 1` is wrong too.
 */
export async function findWrongEnds(q: Query): Promise<WrongEnd[]> {
  const ends = await readEnds(q)
  const { first_seq, last_seq } = rightEnds(ends)
  const both: WrongEnd[] = [
    { column: 'first_seq', stored: ends.first_seq, actual: first_seq },
    { column: 'last_seq', stored: ends.last_seq, actual: last_seq },
  ]
  return both.filter(({ stored, actual }) => stored !== actual)
}

/**
 * Corrects wrong numbers in `mirror_info`. Otherwise, a change number could be assigned twice.
 * Doesn't begin a log epoch.
 * @returns the numbers that were wrong.
 */
export async function repairEnds(db: Db): Promise<WrongEnd[]> {
  if ((await findWrongEnds(db.read)).length === 0) return []
  return db.write('log-ends', (tx) => repairEndsIn(tx))
}

/**
 * Does the work of `repairEnds` in an open transaction. Call this function late in the transaction, because the counter
 * row stays locked until the commit.
 */
export async function repairEndsIn(tx: Tx): Promise<WrongEnd[]> {
  // Waits for running appends and retention. Both change `mirror_info` together with rows of the change log.
  if (tx.kind === 'postgres') await tx.run(sql`select 1 from mirror_info where id = 1 for update`)
  const wrong = await findWrongEnds(tx)
  for (const { column, actual } of wrong) {
    await tx.sql
      .updateTable('mirror_info')
      .set({ [column]: actual })
      .where('id', '=', 1)
      .execute()
  }
  return wrong
}

/** The last assigned change number, even if `mirror_info` is wrong. */
export async function lastAssignedSeq(q: Query): Promise<number> {
  return rightEnds(await readEnds(q)).last_seq
}

interface Ends {
  readonly first_seq: number
  readonly last_seq: number
  readonly oldest: number | null
  readonly newest: number | null
}

async function readEnds(q: Query): Promise<Ends> {
  const row = await q.one(sql<Ends>`
    select first_seq, last_seq, (select min(seq) from changes) as oldest, (select max(seq) from changes) as newest
    from mirror_info where id = 1`)
  return row ?? { first_seq: 1, last_seq: 0, oldest: null, newest: null }
}

function rightEnds({ first_seq, last_seq, oldest, newest }: Ends): { first_seq: number; last_seq: number } {
  const first = numberOf(first_seq, 1)
  // If the change log has no rows, all numbers before `first_seq` were assigned.
  const last = Math.max(numberOf(last_seq, 0), newest ?? first - 1)
  return { first_seq: Number.isSafeInteger(first_seq) ? Math.min(first, oldest ?? last + 1) : (oldest ?? last + 1), last_seq: last }
}

function numberOf(value: number, otherwise: number): number {
  return Number.isSafeInteger(value) ? value : otherwise
}
