import { sql } from 'kysely'
import type { ColumnKind } from '../../model/entity.ts'
import type { Query } from '../engine/db.ts'

export type CopiedKind = ColumnKind | 'bytes'

export interface CopiedTable {
  readonly name: string
  readonly columns: Readonly<Record<string, CopiedKind>>
  readonly key: readonly string[]
  /** The identity column; null if the table has no identity column. */
  readonly serial: string | null
}

/** Tables that a copy leaves out: state of the database or its processes, and single-use tokens. */
const NOT_COPIED = ['sync_migrations', 'sync_processes', 'sync_process_settings', 'sync_copy', 'sync_push_tokens']

const KINDS: Readonly<Record<string, CopiedKind>> = {
  text: 'text',
  bigint: 'int',
  integer: 'int',
  'double precision': 'real',
  boolean: 'bool',
  jsonb: 'json',
  json: 'raw',
  'timestamp with time zone': 'time',
  date: 'date',
  bytea: 'bytes',
}

interface ColumnRow {
  readonly name: string
  readonly field: string
  readonly type: string
  /** 1-based position in the primary key; null if the column isn't in the key. */
  readonly place: number | null
  readonly serial: boolean
}

/**
 * Lists the tables to copy, in order of their names.
 * @param postgres the source or the target, whichever is Postgres. SQLite doesn't store the kinds of columns.
 */
export async function copiedTables(postgres: Query): Promise<CopiedTable[]> {
  const rows = await postgres.all(sql<ColumnRow>`
    select c.relname as name, a.attname as field, format_type(a.atttypid, null) as type, a.attidentity <> '' as serial,
      (select k.place from pg_index i, unnest(i.indkey) with ordinality as k(attnum, place)
        where i.indrelid = c.oid and i.indisprimary and k.attnum = a.attnum) as place
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
    order by c.relname, a.attnum`)
  const ours = rows.filter(({ name }) => !NOT_COPIED.includes(name))
  return [...Map.groupBy(ours, ({ name }) => name)].map(([name, columns]) => tableOf(name, columns))
}

function tableOf(name: string, rows: readonly ColumnRow[]): CopiedTable {
  const columns = rows.map(({ field, type }) => {
    const kind = KINDS[type]
    if (kind === undefined) throw new Error(`${name}.${field} is of type ${type}, which cannot be copied`)
    return [field, kind] as const
  })
  const key = rows.filter(({ place }) => place !== null).sort((a, b) => Number(a.place) - Number(b.place))
  if (key.length === 0) throw new Error(`${name} has no primary key`)
  return {
    name,
    columns: Object.fromEntries(columns),
    key: key.map(({ field }) => field),
    serial: rows.find(({ serial }) => serial)?.field ?? null,
  }
}
