import { sql } from 'kysely'
import type { Query, Tx } from '../engine/db.ts'
import type { CopiedRow } from './copied-rows.ts'

/**
 * How far a copy is, in a table of the target that is there only until the copy is complete. It commits with the rows, so that a copy goes on
 * where it was interrupted.
 */
export interface CopyProgress {
  /** Key of the last row that is there, by table. */
  readonly behind: ReadonlyMap<string, CopiedRow>
  /** Epoch and last number of the change log that is copied. */
  readonly source: string
}

/** Why such a database is not served. */
export const UNFINISHED_COPY =
  'this database is the target of a copy that is not complete; run `submission-mirror copy` again, with DATABASE_URL of the database that is copied'

/** The row that says what is copied. */
const SOURCE = ''

/** Whether the database is the target of a copy that is not complete. */
export async function isUnfinishedCopy(q: Query): Promise<boolean> {
  const text =
    q.kind === 'sqlite'
      ? sql`select 1 from sqlite_master where type = 'table' and name = 'sync_copy'`
      : sql`select 1 from pg_class where relname = 'sync_copy' and relkind = 'r' and relnamespace = current_schema()::regnamespace`
  return (await text.execute(q.sql)).rows.length > 0
}

/** @returns how far it is; null when none was begun. */
export async function readProgress(q: Query): Promise<CopyProgress | null> {
  if (!(await isUnfinishedCopy(q))) return null
  const { rows } = await sql<{ table_name: string; behind: string }>`select table_name, behind from sync_copy`.execute(q.sql)
  return {
    source: rows.find((row) => row.table_name === SOURCE)?.behind ?? '',
    behind: new Map(rows.filter((row) => row.table_name !== SOURCE).map((row) => [row.table_name, JSON.parse(row.behind) as CopiedRow])),
  }
}

/** Notes that a copy of that source begins. */
export async function beginProgress(tx: Tx, source: string): Promise<void> {
  await sql`create table sync_copy (table_name text not null primary key, behind text not null)`.execute(tx.sql)
  await note(tx, SOURCE, source)
}

/** Notes that the rows of a table are there up to that key. */
export async function noteProgress(tx: Tx, table: string, behind: CopiedRow): Promise<void> {
  await note(tx, table, JSON.stringify(behind))
}

/** Has a table be copied from its first row on. */
export async function forgetProgress(tx: Tx, table: string): Promise<void> {
  await sql`delete from sync_copy where table_name = ${table}`.execute(tx.sql)
}

/** Notes that the copy is complete: the database may be served. */
export async function endProgress(tx: Tx): Promise<void> {
  await sql`drop table sync_copy`.execute(tx.sql)
}

async function note(tx: Tx, table: string, behind: string): Promise<void> {
  await sql`
    insert into sync_copy (table_name, behind) values (${table}, ${behind})
    on conflict (table_name) do update set behind = excluded.behind`.execute(tx.sql)
}
