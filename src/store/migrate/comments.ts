import { sql } from 'kysely'
import type { Query, Tx } from '../engine/db.ts'
import type { Relation } from '../schema/table.ts'
import { internalTables, relations } from '../schema/tables.ts'

/** A comment on a table or view, or on one of its columns. */
export interface Comment {
  readonly type: Relation['type']
  readonly name: string
  /** null: on the table or view itself. */
  readonly field: string | null
  readonly text: string
}

/** Writes the descriptions of tables, views and columns as comments in Postgres. */
export async function writeComments(tx: Tx, comments: readonly Comment[]): Promise<void> {
  for (const { type, name, field, text } of comments) {
    const place = field === null ? sql`${sql.raw(type)} ${sql.table(name)}` : sql`column ${sql.ref(`${name}.${field}`)}`
    await sql`comment on ${place} is ${sql.lit(text)}`.execute(tx.sql)
  }
}

/**
 * Comments that differ from the descriptions. SQLite has none. Parts that the database lacks, or that belong to another role, are left out.
 */
export async function missingComments(q: Query): Promise<Comment[]> {
  if (q.kind === 'sqlite') return []
  const { rows } = await sql<{ name: string; field: string | null; text: string | null }>`
    select c.relname as name, a.attname as field, d.description as text
    from pg_class c
    cross join lateral (
      select null as attname, 0 as attnum
      union all select attname, attnum from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) as a
    left join pg_description d on d.objoid = c.oid and d.classoid = 'pg_class'::regclass and d.objsubid = a.attnum
    where c.relkind in ('r', 'p', 'v') and c.relnamespace = current_schema()::regnamespace
      and pg_has_role(c.relowner, 'usage')`.execute(q.sql)
  const there = new Map(rows.map(({ name, field, text }) => [keyOf(name, field), text]))
  return [...relations, ...internalTables].flatMap(commentsOf).filter(({ name, field, text }) => {
    const found = there.get(keyOf(name, field))
    return found !== undefined && found !== text
  })
}

function commentsOf({ name, type, holds, columns, isInternal }: Relation): Comment[] {
  const described = Object.entries(columns).flatMap(([field, { meaning, source, class: protection }]): Comment[] => {
    if (isInternal) return meaning === '' ? [] : [{ type, name, field, text: `${meaning}.` }]
    return [{ type, name, field, text: `${meaning}. Source: ${source.replaceAll('`', '')}. Class: ${protection}.` }]
  })
  return [{ type, name, field: null, text: holds }, ...described]
}

function keyOf(name: string, field: string | null): string {
  return `${name} ${field ?? ''}`
}
