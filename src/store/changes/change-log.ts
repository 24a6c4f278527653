import { type RawBuilder, sql } from 'kysely'
import type { Change } from '../../model/change.ts'
import { timeFromMs } from '../../model/time.ts'
import type { TableSpec, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'

const changesTable: TableSpec = {
  table: 'changes',
  key: ['seq'],
  columns: {
    seq: 'int',
    account: 'text',
    submission_id: 'text',
    entity: 'text',
    entity_id: 'text',
    operation: 'text',
    changed_at: 'time',
    cause: 'text',
    before: 'json',
    after: 'json',
  },
}

/**
 * Appends to the change log. It must be the last thing that a transaction does: the one counter row is locked from here to the
 * commit, so that numbers become visible in their order and none is missing (invariant 9).
 */
export async function appendChanges(tx: Tx, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return
  const { last_seq } = await tx.sql
    .updateTable('mirror_info')
    .set({ last_seq: sql<number>`${lastGiven(tx)} + ${sql.lit(changes.length)}` })
    .where('id', '=', 1)
    .returning('last_seq')
    .executeTakeFirstOrThrow()
  const changed_at = timeFromMs(tx.clock.now())
  const first = last_seq - changes.length + 1
  await tx.insertMany(
    changesTable,
    changes.map((change, index) => ({ seq: first + index, ...change, changed_at })),
  )
  wake(tx, 'changes')
}

/**
 * The last number that was given: what `last_seq` says, unless somebody has set it back behind the rows (see log-ends.ts), which must not
 * stop everything. Rows that are committed while the lock is waited for are in `last_seq` then.
 */
function lastGiven(tx: Tx): RawBuilder<number> {
  const told = sql`coalesce((select max(seq) from changes), first_seq - 1)`
  // On SQLite it may be a text, which would be greater than every number.
  return tx.kind === 'sqlite' ? sql<number>`max(cast(last_seq as integer), ${told})` : sql<number>`greatest(last_seq, ${told})`
}
