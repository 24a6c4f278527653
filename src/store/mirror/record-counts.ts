import { sql } from 'kysely'
import type { Change } from '../../model/change.ts'
import { marketEvents } from '../../model/entities/market-events.ts'
import { threadMessages } from '../../model/entities/thread-messages.ts'
import type { Row } from '../../model/entity.ts'
import type { Tx } from '../engine/db.ts'
import { valuesTable } from '../engine/sql.ts'

const COUNTED: readonly string[] = [marketEvents.table, threadMessages.table]

/**
 * Counts the events and messages of each submission that got one, so that no reader has to count millions. They are counted anew each time: one
 * that somebody deleted by hand and a later read brought back is not counted twice. The rows of the submissions are locked.
 */
export async function writeRecordCounts(tx: Tx, changes: readonly Change[]): Promise<void> {
  const inserted = changes.filter(({ entity, operation }) => operation === 'insert' && COUNTED.includes(entity))
  if (inserted.length === 0) return
  const keys = inserted.map(({ account, submission_id }): [string, Row] => [`${account} ${submission_id}`, { account, submission_id }])
  const given = valuesTable(tx, { account: 'text', submission_id: 'text' }, [...new Map(keys).values()])
  const count = (table: string) =>
    sql`(select count(*) from ${sql.table(table)} x where x.account = given.account and x.submission_id = given.submission_id)`
  await sql`
    insert into sync_record_counts (account, submission_id, events, messages)
    select account, submission_id, ${count(marketEvents.table)}, ${count(threadMessages.table)} from ${given} where true
    on conflict (account, submission_id) do update set events = excluded.events, messages = excluded.messages`.execute(tx.sql)
}
