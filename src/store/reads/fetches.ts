import { sql } from 'kysely'
import type { Change } from '../../model/change.ts'
import { documents } from '../../model/entities/documents.ts'
import type { Tx } from '../engine/db.ts'
import { isClaimedBy } from '../engine/leases.ts'
import { dbTime, valuesTable } from '../engine/sql.ts'

/*
 * Each document has a row in `sync_documents` that says when its file is fetched. It is written with the document's own row, so that none is
 * forgotten.
 */

/** Lease of one fetch: longer than a whole download may take. */
export const FETCH_LEASE_MS = 900_000
/** The longest wait between two attempts. */
export const LONGEST_FETCH_WAIT_MS = 12 * 3_600_000

/** Makes documents due to be fetched: new ones, those that lost their file, and those that are shown again or elsewhere. */
export async function requestFetches(tx: Tx, changes: readonly Change[]): Promise<void> {
  const rows = changes.filter(needsFetch).map(({ account, entity_id }) => ({ account, document_key: String(JSON.parse(entity_id)[0]) }))
  if (rows.length === 0) return
  await sql`
    insert into sync_documents (account, document_key, due_at, failures)
    select given.account, given.document_key, ${dbTime(tx)}, 0 from ${valuesTable(tx, { account: 'text', document_key: 'text' }, rows)}
    where 1 = 1
    on conflict (account, document_key) do update set due_at = excluded.due_at, failures = 0, failing_since = null, lease_token = null,
      refused_over_bytes = null`.execute(tx.sql)
}

function needsFetch({ entity, operation, after }: Change): boolean {
  if (entity !== documents.table || operation === 'purged') return false
  if (operation === 'insert') return true
  return (
    ['stored_path', 'gone_at'].some((column) => column in after && after[column] === null) ||
    'download_path' in after ||
    'document_url' in after
  )
}

/** Releases what a dead process had claimed; of an account, everything that is claimed. */
export async function releaseFetchesOf(tx: Tx, of: { readonly processId: string } | { readonly account: string }): Promise<void> {
  const which = 'account' in of ? sql`account = ${of.account}` : isClaimedBy(of.processId)
  await sql`update sync_documents set lease_token = null, due_at = ${dbTime(tx)} where lease_token is not null and ${which}`.execute(tx.sql)
}
