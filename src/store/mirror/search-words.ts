import { sql } from 'kysely'
import type { Change } from '../../model/change.ts'
import { submissions } from '../../model/entities/submissions.ts'
import { searchWords } from '../../model/search-words.ts'
import type { Tx } from '../engine/db.ts'
import { valuesTable } from '../engine/sql.ts'
import { syncSearchWords } from '../schema/overview.ts'
import { specOf } from '../schema/table.ts'

const searchWordsTable = specOf(syncSearchWords)

/** Replaces the search words of every submission whose name these changes set. The rows of the submissions are locked. */
export async function writeSearchWords(tx: Tx, changes: readonly Change[]): Promise<void> {
  const renamed = changes.filter(({ entity, after }) => entity === submissions.table && after['insured_name'] !== undefined)
  if (renamed.length === 0) return
  const of = renamed.map(({ account, submission_id }) => ({ account, submission_id }))
  const given = valuesTable(tx, { account: 'text', submission_id: 'text' }, of)
  await sql`delete from sync_search_words where (account, submission_id) in (select account, submission_id from ${given})`.execute(tx.sql)
  const rows = renamed.flatMap(({ account, submission_id, after }) => {
    const name = after['insured_name']
    return (typeof name === 'string' ? searchWords(name) : []).map((word) => ({ account, submission_id, word }))
  })
  // Two changes of one transaction may name the same submission.
  await tx.insertMany(searchWordsTable, rows, { ignore: true })
}
