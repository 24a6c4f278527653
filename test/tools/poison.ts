import { sql } from 'kysely'
import type { Db } from '../../src/store/engine/db.ts'

/**
 * Makes the database itself refuse to insert rows into `table` whose `column` holds `value`: the kind of failure that no
 * retry mends.
 * @returns what ends it.
 */
export async function poison(db: Db, table: string, column: string, value: string): Promise<() => Promise<void>> {
  const [on, column_, text] = [sql.ref(table), sql.ref(column), sql.lit(value)]
  await db.write('test-poison', async (tx) => {
    if (tx.kind === 'sqlite') {
      await sql`create trigger poison before insert on ${on} when new.${column_} = ${text} begin select raise(abort, 'poisoned row'); end`.execute(
        tx.sql,
      )
      return
    }
    await sql`create function poison() returns trigger language plpgsql as $$ begin raise exception 'poisoned row'; end $$`.execute(tx.sql)
    await sql`create trigger poison before insert on ${on} for each row when (new.${column_} = ${text}) execute function poison()`.execute(
      tx.sql,
    )
  })
  return () =>
    db.write('test-cure', async (tx) => {
      if (tx.kind === 'sqlite') await sql`drop trigger poison`.execute(tx.sql)
      else await sql`drop function poison() cascade`.execute(tx.sql)
    })
}
