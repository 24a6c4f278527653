import { sql } from 'kysely'
import type { Query, Tx } from '../engine/db.ts'
import { valuesTable } from '../engine/sql.ts'

/** A document that several submissions named, and one of these submissions. */
export interface SharedDocument {
  readonly account: string
  readonly documentKey: string
  readonly submissionId: string
}

export async function noteSharedDocuments(tx: Tx, shared: readonly SharedDocument[]): Promise<void> {
  if (shared.length === 0) return
  const rows = shared.map(({ account, documentKey, submissionId }) => ({ account, document_key: documentKey, submission_id: submissionId }))
  const given = valuesTable(tx, { account: 'text', document_key: 'text', submission_id: 'text' }, rows)
  await tx.run(sql`
    insert into sync_shared_documents (account, document_key, submission_id)
    select account, document_key, submission_id from ${given} where 1 = 1 on conflict do nothing`)
}

/** Submissions that named the document at any time. Empty if only one submission named the document. */
export async function sharersOf(q: Query, account: string, documentKey: string): Promise<string[]> {
  const shared = q.sql.selectFrom('sync_shared_documents').select('submission_id').where('account', '=', account)
  return (await shared.where('document_key', '=', documentKey).execute()).map(({ submission_id }) => submission_id)
}
