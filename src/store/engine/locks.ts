import { sql } from 'kysely'
import type { Tx } from './db.ts'

/** Takes a named lock of this schema until the transaction ends. SQLite needs none: it has one writer. */
export async function lockNamed(tx: Tx, name: string): Promise<void> {
  if (tx.kind === 'sqlite') return
  await sql`select pg_advisory_xact_lock(hashtextextended('submission-mirror ' || ${name}::text || ' ' || current_schema(), 0))`.execute(
    tx.sql,
  )
}
