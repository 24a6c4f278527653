import { sql } from 'kysely'
import type { Query, Tx } from '../engine/db.ts'
import type { CopiedRow } from './copied-rows.ts'

/** Progress of a copy. The target stores the progress with each page, so an interrupted copy can resume. */
export interface CopyProgress {
  /** Key of the last copied row, by table name. */
  readonly behind: ReadonlyMap<string, CopiedRow>
  /** Log epoch of the source database. */
  readonly source: string
}

export const UNFINISHED_COPY =
  'this database is the target of an unfinished copy; run `submission-mirror copy` again, with DATABASE_URL of the source database'

/** `table_name` of the row in `sync_copy` that stores the source's log epoch. */
const SOURCE = ''

export async function isUnfinishedCopy(q: Query): Promise<boolean> {
  const text =
    q.kind === 'sqlite'
      ? sql`select 1 from sqlite_master where type = 'table' and name = 'sync_copy'`
      : sql`select 1 from pg_class where relname = 'sync_copy' and relkind = 'r' and relnamespace = current_schema()::regnamespace`
  return await q.exists(text)
}

/** Reads the progress from the target. @returns null if the target has no unfinished copy. */
export async function readProgress(q: Query): Promise<CopyProgress | null> {
  if (!(await isUnfinishedCopy(q))) return null
  const rows = await q.all(sql<{ table_name: string; behind: string }>`select table_name, behind from sync_copy`)
  return {
    source: rows.find((row) => row.table_name === SOURCE)?.behind ?? '',
    behind: new Map(rows.filter((row) => row.table_name !== SOURCE).map((row) => [row.table_name, JSON.parse(row.behind) as CopiedRow])),
  }
}

export async function beginProgress(tx: Tx, source: string): Promise<void> {
  await tx.run(sql`create table sync_copy (table_name text not null primary key, behind text not null)`)
  await put(tx, SOURCE, source)
}

export async function recordProgress(tx: Tx, table: string, behind: CopiedRow): Promise<void> {
  await put(tx, table, JSON.stringify(behind))
}

export async function forgetProgress(tx: Tx, table: string): Promise<void> {
  await tx.run(sql`delete from sync_copy where table_name = ${table}`)
}

export async function endProgress(tx: Tx): Promise<void> {
  await tx.run(sql`drop table sync_copy`)
}

async function put(tx: Tx, table: string, behind: string): Promise<void> {
  await tx.run(sql`
    insert into sync_copy (table_name, behind) values (${table}, ${behind})
    on conflict (table_name) do update set behind = excluded.behind`)
}
