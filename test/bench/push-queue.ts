import { closeSync, copyFileSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import { systemClock } from '../../src/base/clock.ts'
import { FanOut } from '../../src/push/queue/fan-out.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { openDb } from '../../src/store/open/open.ts'
import { ensureDestinations } from '../../src/store/outbox/destinations.ts'
import { ensureAccounts } from '../../src/store/reads/accounts.ts'
import { silentLog } from '../tools/databases.ts'
import { fillInbox, workOff } from './inbox.ts'
import { destinationTo } from './push-destination.ts'

const LARGE_TIMES = 100

/**
 * Creates a database with `messages` outbox rows of `submissions` submissions for one destination, through the product. @param others
 * destinations that start after them.
 */
export async function makeQueue(
  path: string,
  name: string,
  others: readonly string[],
  messages: number,
  submissions: number,
): Promise<void> {
  const db = await openDb({ kind: 'sqlite', path }, { clock: systemClock, log: silentLog })
  try {
    await migrate(db)
    await ensureAccounts(db, ['default'])
    const destinations = [destinationTo(name, 'http://127.0.0.1')]
    await ensureDestinations(db, destinations)
    await fillInbox(db, 'default', messages, submissions)
    await workOff(db, messages)
    const fanOut = new FanOut({ db, log: silentLog, destinations, isClockTrusted: async () => true })
    while (await fanOut.step()) {}
    await ensureDestinations(
      db,
      others.map((other) => ({ name: other, start: 'now' })),
    )
  } finally {
    await db.close()
  }
}

/** Adds a second destination with a hundred times the rows and streams of the first, written directly, since filling isn't measured. */
export function addLargeQueue(path: string, from: string, to: string): void {
  const database = new Database(path)
  database.pragma('synchronous = off')
  database.pragma('cache_size = -200000')
  const columns = 'submission_id, entity, entity_id, operation, cause, seq, snapshot, message_id, state, attempts, uncertain, queued_at'
  const copies = `with recursive copies(n) as (select 0 union all select n + 1 from copies where n + 1 < ${LARGE_TIMES})`
  database.transaction(() => {
    database
      .prepare(
        `${copies} insert into sync_outbox (destination, account, stream, ${columns})
         select ?, account, stream || '-' || copies.n, ${columns} from copies cross join sync_outbox where destination = ?`,
      )
      .run(to, from)
    database
      .prepare(
        `${copies} insert into sync_push_streams (destination, account, stream, due_at)
         select ?, account, stream || '-' || copies.n, due_at from copies cross join sync_push_streams where destination = ?`,
      )
      .run(to, from)
  })()
  database.pragma('wal_checkpoint(truncate)')
  database.close()
}

/** Makes the rows of a processed outbox ready again, outside the measured time. */
export async function refill(db: Db, path: string): Promise<void> {
  await db.write('bench-fill', async (tx) => {
    await tx.run(sql`
      update sync_outbox set state = 'ready', attempts = 0, uncertain = 0, status = null, detail = null, error = null,
        tried_at = null, settled_at = null`)
    await tx.run(sql`
      insert into sync_push_streams (destination, account, stream, due_at)
      select destination, account, stream, min(queued_at) from sync_outbox group by destination, account, stream order by min(outbox_id)`)
  })
  const database = new Database(path)
  database.pragma('wal_checkpoint(passive)')
  database.close()
}

/** A copy of a closed database in `folder`, flushed to disk before measuring. @returns its path. */
export function copyOf(path: string, folder: string, name = 'mirror.db'): string {
  const copy = join(folder, name)
  for (const ending of ['-wal', '-shm']) rmSync(`${copy}${ending}`, { force: true })
  copyFileSync(path, copy)
  const file = openSync(copy, 'r+')
  fsyncSync(file)
  closeSync(file)
  return copy
}
