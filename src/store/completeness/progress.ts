import type { Query, Tx } from '../engine/db.ts'

/**
 * Reads the stored progress of a task that runs in steps; 0 before the first step.
 * @param account `''` for a task over all accounts.
 */
export async function readProgress(q: Query, account: string, name: string): Promise<number> {
  const row = await ofMark(q.sql.selectFrom('sync_counters').select('value'), account, name).executeTakeFirst()
  return row?.value ?? 0
}

/**
 * Stores the progress after a step, in the transaction of the step.
 * @param from the progress before the step.
 * @returns false if another process has already done the step.
 */
export async function moveProgress(tx: Tx, account: string, name: string, from: number, to: number): Promise<boolean> {
  const move = tx.sql.updateTable('sync_counters').set({ value: to }).where('value', '=', from)
  const moved = await ofMark(move, account, name).executeTakeFirst()
  if (moved.numUpdatedRows > 0n) return true
  if (from !== 0) return false
  const added = await tx.sql
    .insertInto('sync_counters')
    .values({ account, name, label: '', value: to })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return (added.numInsertedOrUpdatedRows ?? 0n) > 0n
}

function ofMark<Q extends { where(column: 'account' | 'name' | 'label', op: '=', value: string): Q }>(
  query: Q,
  account: string,
  name: string,
): Q {
  return query.where('account', '=', account).where('name', '=', name).where('label', '=', '')
}
