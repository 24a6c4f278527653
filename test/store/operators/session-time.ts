import { sql } from 'kysely'
import type { Db } from '../../../src/store/engine/db.ts'

export async function letSessionsAge(db: Db, ms: number, columns: readonly string[] = ['began_at', 'seen_at']): Promise<void> {
  const earlier = (column: string) =>
    db.kind === 'postgres'
      ? sql`${sql.ref(column)} = ${sql.ref(column)} - ${ms}::float8 * interval '1 millisecond'`
      : sql`${sql.ref(column)} = strftime('%Y-%m-%dT%H:%M:%f000Z', ${sql.ref(column)}, ${`${-ms / 1000} seconds`})`
  await db.write('test-sessions', (tx) => tx.run(sql`update sync_console_sessions set ${sql.join(columns.map(earlier))}`))
}
