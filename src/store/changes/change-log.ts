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
 * Appends to the change log. Must be the last thing a transaction does: it locks the one counter row until the commit, so that numbers
 * become visible in order and none is missing (invariant 9).
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
 * The last assigned number: `last_seq`, or the newest row if somebody has set `last_seq` back (see log-ends.ts), which must not stop
 * everything. After waiting for the lock, `last_seq` includes rows committed meanwhile.
 */
function lastGiven(tx: Tx): RawBuilder<number> {
  const newest = sql`coalesce((select max(seq) from changes), first_seq - 1)`
  // On SQLite somebody may have stored text, which sorts above every number.
  return tx.kind === 'sqlite' ? sql<number>`max(cast(last_seq as integer), ${newest})` : sql<number>`greatest(last_seq, ${newest})`
}
