import { sql } from 'kysely'
import type { Tx } from './db.ts'

/** Waits until no other transaction holds `name` in this schema, and holds it until this one ends. SQLite has one writer anyway. */
export async function lockNamed(tx: Tx, name: string): Promise<void> {
  if (tx.kind === 'sqlite') return
  await sql`select pg_advisory_xact_lock(hashtextextended('submission-mirror ' || ${name}::text || ' ' || current_schema(), 0))`.execute(
    tx.sql,
  )
}
