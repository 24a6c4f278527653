import type { Query } from '../engine/db.ts'

export interface StoredFile {
  /** Path in the documents folder: `<first two hex digits>/<sha256>`. */
  readonly path: string
  readonly bytes: number
}

const PAGE = 1_000

/** Yields each file in the column `documents.stored_path` once, in order of the paths. */
export async function* storedFiles(q: Query): AsyncGenerator<StoredFile> {
  let after = ''
  for (;;) {
    const rows = await q.sql
      .selectFrom('documents')
      .select((e) => ['stored_path', e.fn.max('stored_bytes').as('bytes')])
      .where('stored_path', '>', after)
      .groupBy('stored_path')
      .orderBy('stored_path')
      .limit(PAGE)
      .execute()
    for (const { stored_path: path, bytes } of rows) if (path !== null) yield { path, bytes: bytes ?? 0 }
    const last = rows.at(-1)?.stored_path
    if (rows.length < PAGE || last === undefined || last === null) return
    after = last
  }
}
