import { closeSync, copyFileSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import { systemClock } from '../../src/base/clock.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { timeFromMs } from '../../src/model/time.ts'
import { FanOut } from '../../src/push/queue/fan-out.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { openDb } from '../../src/store/open/open.ts'
import { ensureDestinations } from '../../src/store/outbox/destinations.ts'
import { ensureAccounts } from '../../src/store/reads/accounts.ts'
import { Worker } from '../../src/work/worker.ts'
import { silentLog } from '../tools/databases.ts'
import { uuid, wireMessage } from '../tools/facts.ts'
import { destinationTo } from './push-destination.ts'

const BODY_PADDING = 'x'.repeat(1_300)

const LARGE_TIMES = 100

/**
 * Makes a database whose outbox has `messages` rows for one destination, of `submissions` submissions, the way that they get there.
 * @param others destinations that begin behind them.
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
    await mirror(db, messages, submissions)
    const fanOut = new FanOut({ db, log: silentLog, destinations, isClockTrusted: async () => true })
    while (await fanOut.step()) {
      // As long as there are changes.
    }
    await ensureDestinations(
      db,
      others.map((other) => ({ name: other, start: 'now' })),
    )
  } finally {
    await db.close()
  }
}

/** Messages through the inbox into the mirror, as deliveries get there. */
async function mirror(db: Db, messages: number, submissions: number): Promise<void> {
  const now = timeFromMs(Date.now())
  for (let first = 0; first < messages; first += 500) {
    await db.write('bench-fill', async (tx) => {
      for (let n = first; n < Math.min(messages, first + 500); n++) {
        const message = wireMessage(n, { body_text: BODY_PADDING })
        const body = Buffer.from(JSON.stringify({ type: 'submission.message', submission_id: uuid(9, n % submissions), message }))
        const row = { account: 'default', delivery_id: `msg_${n}`, received_at: now, secret: 1, state: 'ready' as const, attempts: 0 }
        await tx.sql
          .insertInto('sync_inbox')
          .values({ ...row, available_at: now, headers: '{}', body })
          .execute()
      }
    })
  }
  const done = new AbortController()
  let settled = 0
  const observer: typeof silentObserver = {
    ...silentObserver,
    count(name, _labels, by = 1) {
      if (name === 'deliveries_settled_total') settled += by
      if (settled >= messages) done.abort()
    },
  }
  await new Worker({ db, clock: systemClock, log: silentLog, observer, restMs: () => 0 }).run(done.signal)
}

/**
 * Gives a second destination a hundred times the rows of the first, in a hundred times as many lanes; written past the store, since this
 * is not what is measured.
 */
export function addLargeQueue(path: string, from: string, to: string): void {
  const database = new Database(path)
  database.pragma('synchronous = off')
  database.pragma('cache_size = -200000')
  const columns = 'submission_id, entity, entity_id, operation, cause, seq, snapshot, message_id, state, attempts, uncertain, queued_at'
  const copies = `with recursive copies(n) as (select 0 union all select n + 1 from copies where n + 1 < ${LARGE_TIMES})`
  database.transaction(() => {
    database
      .prepare(
        `${copies} insert into sync_outbox (destination, account, lane, ${columns})
         select ?, account, lane || '-' || copies.n, ${columns} from copies cross join sync_outbox where destination = ?`,
      )
      .run(to, from)
    database
      .prepare(
        `${copies} insert into sync_push_lanes (destination, account, lane, due_at)
         select ?, account, lane || '-' || copies.n, due_at from copies cross join sync_push_lanes where destination = ?`,
      )
      .run(to, from)
  })()
  database.pragma('wal_checkpoint(truncate)')
  database.close()
}

/** Makes the rows of an outbox that was worked off ready once more, as they were before; nothing of it falls into what is measured. */
export async function refill(db: Db, path: string): Promise<void> {
  await db.write('bench-fill', async (tx) => {
    await sql`
      update sync_outbox set state = 'ready', attempts = 0, uncertain = 0, status = null, detail = null, error = null,
        tried_at = null, settled_at = null`.execute(tx.sql)
    await sql`
      insert into sync_push_lanes (destination, account, lane, due_at)
      select destination, account, lane, min(queued_at) from sync_outbox group by destination, account, lane order by min(outbox_id)`.execute(
      tx.sql,
    )
  })
  const database = new Database(path)
  database.pragma('wal_checkpoint(passive)')
  database.close()
}

/** A copy of a closed database in `folder`, written out, so that nothing of copying it falls into what is measured. @returns its path. */
export function copyOf(path: string, folder: string, name = 'mirror.db'): string {
  const copy = join(folder, name)
  for (const ending of ['-wal', '-shm']) rmSync(`${copy}${ending}`, { force: true })
  copyFileSync(path, copy)
  const file = openSync(copy, 'r+')
  fsyncSync(file)
  closeSync(file)
  return copy
}
