import { sql } from 'kysely'
import type { Tx } from './db.ts'

/**
 * Takes a named lock until the transaction ends. Each schema has its own locks. SQLite has one writer and needs no
 * lock.
 * @param isShared true: allows other shared locks at the same time.
 */
export async function lockNamed(tx: Tx, name: string, isShared = false): Promise<void> {
  if (tx.kind === 'sqlite') return
  const lock = sql.raw(isShared ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock')
  await tx.run(sql`select ${lock}(hashtextextended('submission-mirror ' || ${name}::text || ' ' || current_schema(), 0))`)
}
