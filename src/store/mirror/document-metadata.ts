import type { Query } from '../engine/db.ts'

/** @returns the name and media type that the service gives a document; null when there is no such document, as after a purge. */
export async function documentMetadata(
  q: Query,
  { account, documentKey }: { readonly account: string; readonly documentKey: string },
): Promise<{ readonly name: string | null; readonly contentType: string | null } | null> {
  const row = await q.sql
    .selectFrom('documents')
    .select(['name', 'content_type'])
    .where('account', '=', account)
    .where('document_key', '=', documentKey)
    .executeTakeFirst()
  return row === undefined ? null : { name: row.name, contentType: row.content_type }
}
