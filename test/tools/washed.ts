// Reusable databases. Creating one writes hundreds of files, up to a quarter of a second; emptying a used one takes a tenth of that.
import type pg from 'pg'

/** Larger tables get a new file, since deleted rows stay in it. */
const LARGE_BYTES = 256 << 10
/** Limit for the server to end a closed connection; takes seconds on a busy machine. */
const PATIENCE_MS = 20_000

/** Records each change of tables, indexes, views, functions or rights. Copies of the database have it too. */
const NOTE_CHANGES = `
  create schema noted;
  create table noted.changes (command text not null);
  create function noted.note() returns event_trigger language plpgsql security definer as
    'begin insert into noted.changes values (tg_tag); end';
  create event trigger noted on ddl_command_end execute function noted.note()`

/** Whether more than rows changed: database settings and table statistics call no trigger. */
const IS_ALTERED = `
  select exists (select 1 from noted.changes)
    or exists (select 1 from pg_db_role_setting where setdatabase = (select oid from pg_database where datname = current_database()))
    or exists (select 1 from pg_statistic join pg_class c on c.oid = starelid where relnamespace = $1::regnamespace) as "isAltered"`

/** Records a new database's content, and its later changes. @param server stores the records. @param fresh a new database. */
export async function describeFresh(server: pg.Client, fresh: pg.Client, schema: string): Promise<void> {
  const tables = await fresh.query('select tablename from pg_tables where schemaname = $1', [schema])
  const rows: Record<string, unknown> = {}
  for (const { tablename } of tables.rows) {
    const found = await fresh.query(`select coalesce(json_agg(t), '[]') as rows from ${schema}.${tablename} t`)
    rows[tablename] = found.rows[0].rows
  }
  await fresh.query(NOTE_CHANGES)
  await server.query('create table if not exists fresh (rows json not null)')
  await server.query('create table if not exists washed (name text primary key)')
  await server.query('delete from fresh')
  await server.query('insert into fresh values ($1)', [JSON.stringify(rows)])
}

/** @returns the name of an emptied database, reserved for the caller, if there is one. */
export async function takeWashed(server: pg.Client): Promise<string | undefined> {
  const taken = await server.query(
    'delete from washed where name = (select name from washed limit 1 for update skip locked) returning name',
  )
  return taken.rows[0]?.name
}

export async function keepWashed(server: pg.Client, name: string): Promise<void> {
  await server.query('insert into washed values ($1)', [name])
}

/**
 * Empties a database. @param used a connection to it. @returns false if that is impossible: it has connections, or more than rows changed.
 */
export async function wash(server: pg.Client, used: pg.Client, schema: string): Promise<boolean> {
  const [fresh] = (await server.query('select rows from fresh')).rows as { rows: Record<string, unknown[]> }[]
  if (!fresh || !(await isAlone(used))) return false
  if ((await used.query(IS_ALTERED, [schema])).rows[0].isAltered) return false
  const { rows: tables } = await used.query(
    `select c.relname as name, pg_relation_size(c.oid) > $2 as "isLarge" from pg_class c
      where c.relkind = 'r' and c.relnamespace = $1::regnamespace and pg_relation_size(c.oid) > 0`,
    [schema, LARGE_BYTES],
  )
  const steps = tables.map(({ name, isLarge }) => `${isLarge ? 'truncate' : 'delete from'} ${schema}.${name}`)
  for (const [table, rows] of Object.entries(fresh.rows)) {
    if (rows.length === 0) continue
    const those = `json_populate_recordset(null::${schema}.${table}, ${used.escapeLiteral(JSON.stringify(rows))})`
    steps.push(`insert into ${schema}.${table} overriding system value select * from ${those}`)
  }
  steps.push(
    `select setval(format('%I.%I', schemaname, sequencename), start_value, false) from pg_sequences where schemaname = '${schema}'`,
  )
  await used.query(['set session_replication_role = replica', ...steps].join(';'))
  return true
}

/** Waits until closed connections are gone on the server, and cuts others. */
async function isAlone(used: pg.Client): Promise<boolean> {
  const until = performance.now() + PATIENCE_MS
  do {
    const { rows } = await used.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    if (rows.length === 0) return true
  } while (performance.now() < until)
  return false
}
