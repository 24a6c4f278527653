import { sql } from 'kysely'
import type { Db } from '../../src/store/engine/db.ts'

/**
 * Makes the database refuse rows of `table` with this `value` in `column`: a failure that no retry fixes. @returns a function that ends it.
 */
export async function poison(db: Db, table: string, column: string, value: string): Promise<() => Promise<void>> {
  const [on, column_, text] = [sql.ref(table), sql.ref(column), sql.lit(value)]
  await db.write('test-poison', async (tx) => {
    if (tx.kind === 'sqlite') {
      await tx.run(
        sql`create trigger poison before insert on ${on} when new.${column_} = ${text} begin select raise(abort, 'poisoned row'); end`,
      )
      return
    }
    await tx.run(sql`create function poison() returns trigger language plpgsql as $$ begin raise exception 'poisoned row'; end $$`)
    await tx.run(sql`create trigger poison before insert on ${on} for each row when (new.${column_} = ${text}) execute function poison()`)
  })
  return () =>
    db.write('test-cure', async (tx) => {
      if (tx.kind === 'sqlite') await tx.run(sql`drop trigger poison`)
      else await tx.run(sql`drop function poison() cascade`)
    })
}
