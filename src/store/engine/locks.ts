import { sql } from 'kysely'
import type { Tx } from './db.ts'

/**
 * Takes a named lock until the transaction ends. Each Postgres schema has its own locks. Does nothing on SQLite, which
 * has only one writer at a time.
 * @param isShared true: other transactions may have the same lock at the same time, if they also pass true.
 */
export async function lockNamed(tx: Tx, name: string, isShared = false): Promise<void> {
  if (tx.kind === 'sqlite') return
  const lock = sql.raw(isShared ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock')
  await tx.run(sql`select ${lock}(hashtextextended('submission-mirror ' || ${name}::text || ' ' || current_schema(), 0))`)
}
