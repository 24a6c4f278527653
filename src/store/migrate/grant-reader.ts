import { type RawBuilder, sql } from 'kysely'
import { UsageError } from '../../base/errors.ts'
import type { ProtectionClass } from '../../model/entity.ts'
import type { Db, Tx } from '../engine/db.ts'
import type { Column } from '../schema/table.ts'
import { relations } from '../schema/tables.ts'

const IMPERSONAL: readonly ProtectionClass[] = ['none', 'business']

export interface GrantOptions {
  /** Leaves out columns that may identify a person, in tables and views. The role then can't use `select *`. */
  readonly withoutPersonal?: boolean
}

/**
 * Lets a Postgres role read the public tables and views. Revokes all other rights of the role on tables in the schema.
 * Repeat this after an upgrade that adds tables or columns.
 * @throws UsageError on SQLite, which has no roles; if the schema has no tables; if the role doesn't exist; if the role
 * owns the tables, because revoking the owner's rights would lock the program out.
 */
export async function grantReader(db: Db, role: string, { withoutPersonal = false }: GrantOptions = {}): Promise<void> {
  if (db.kind === 'sqlite') throw new UsageError(['--grant-reader: SQLite has no roles; give the reader read access to the file instead'])
  await db.write('grant-reader', (tx) => grant(tx, role, withoutPersonal), { noTimeout: true })
}

async function grant(tx: Tx, role: string, withoutPersonal: boolean): Promise<void> {
  const roles = await tx.all(sql<{ owner: boolean }>`
    select rolname = current_user or exists (
      select from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = current_schema() and c.relowner = r.oid
    ) as owner from pg_roles r where rolname = ${role}`)
  const [found] = roles
  if (!found) throw new UsageError([`--grant-reader: there is no role ${role}. Create it first (create role)`])
  if (found.owner) throw new UsageError([`--grant-reader: ${role} owns the tables and can read them anyway. Name another role`])
  const rows = await tx.all(sql<{ schema: string; name: string }>`
    select n.nspname as schema, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = current_schema() and c.relkind in ('r', 'p', 'v') and not starts_with(c.relname, 'sync_')
    order by c.relname`)
  const [first] = rows
  if (!first) throw new UsageError(['--grant-reader: the schema has no tables yet; run `submission-mirror migrate` first'])
  const schema = sql.id(first.schema)
  const reader = sql.id(role)
  // Revoking table rights also revokes column rights.
  await tx.run(sql`revoke all on all tables in schema ${schema} from ${reader}`)
  await tx.run(sql`grant usage on schema ${schema} to ${reader}`)
  if (withoutPersonal) await grantColumns(tx, first.schema, new Set(rows.map(({ name }) => name)), reader)
  else {
    const tables = sql.join(rows.map((row) => sql.id(row.schema, row.name)))
    await tx.run(sql`grant select on ${tables} to ${reader}`)
  }
}

/**
 * Grants the columns that can't identify a person. Views run with their owner's rights, so the role needs no rights on
 * the tables that a view reads.
 */
async function grantColumns(tx: Tx, schema: string, names: ReadonlySet<string>, reader: RawBuilder<unknown>): Promise<void> {
  for (const { name, columns } of relations.filter((relation) => names.has(relation.name))) {
    const all = Object.entries(columns)
    const shown = all.filter(([, column]) => isImpersonal(column)).map(([column]) => sql.id(column))
    if (shown.length === 0) continue
    const which = shown.length === all.length ? sql`` : sql` (${sql.join(shown)})`
    await tx.run(sql`grant select${which} on ${sql.id(schema, name)} to ${reader}`)
  }
}

/**
 * True if a column can't identify a person. False for `raw` columns, because they may contain any field of the service.
 */
function isImpersonal({ kind, class: protection }: Column): boolean {
  return kind !== 'raw' && IMPERSONAL.includes(protection)
}
