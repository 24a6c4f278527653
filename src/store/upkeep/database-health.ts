import { sql } from 'kysely'
import { endsWithin } from '../../base/abortable.ts'
import type { Db, Tx } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'
import { appendAndRemove } from '../inbox/append.ts'

export interface DatabaseHealth {
  readonly server: string
  /** Database settings that protect acknowledged deliveries from a power failure. `ok`: whether the value is safe. */
  readonly durability: readonly { readonly name: string; readonly value: string; readonly ok: boolean }[]
  readonly sizeBytes: number
}

const SYNCHRONOUS = ['off', 'normal', 'full', 'extra']

/**
 * Reads the settings of the connection that writes, and tests whether the database can store data durably.
 * @throws TransientError if the test write fails.
 */
export function readDatabaseHealth(db: Db): Promise<DatabaseHealth> {
  return db.write('doctor', async (tx) => {
    const health = tx.kind === 'sqlite' ? await sqliteHealth(tx) : await postgresHealth(tx)
    await appendAndRemove(tx)
    await tx.run(sql`
      insert into sync_upkeep (task, position, began_at, ended_at) values ('doctor', 0, ${dbTime(tx)}, ${dbTime(tx)})
      on conflict (task) do update set began_at = excluded.began_at, ended_at = excluded.ended_at`)
    return health
  })
}

async function sqliteHealth(tx: Tx): Promise<DatabaseHealth> {
  const journal = await one(tx, 'pragma journal_mode', 'journal_mode')
  const synchronous = Number(await one(tx, 'pragma synchronous', 'synchronous'))
  const pages = Number(await one(tx, 'pragma page_count', 'page_count'))
  return {
    server: `SQLite ${await one(tx, 'select sqlite_version() as version', 'version')}`,
    durability: [
      { name: 'journal_mode', value: journal, ok: journal === 'wal' },
      { name: 'synchronous', value: SYNCHRONOUS[synchronous] ?? String(synchronous), ok: synchronous >= 2 },
    ],
    sizeBytes: pages * Number(await one(tx, 'pragma page_size', 'page_size')),
  }
}

async function postgresHealth(tx: Tx): Promise<DatabaseHealth> {
  const durability: { name: string; value: string; ok: boolean }[] = []
  for (const name of ['synchronous_commit', 'fsync', 'full_page_writes']) {
    const value = await one(tx, `select current_setting('${name}') as value`, 'value')
    // `remote_apply` is stricter than `on`.
    durability.push({ name, value, ok: value === 'on' || value === 'remote_apply' })
  }
  return {
    server: `PostgreSQL ${await one(tx, "select current_setting('server_version') as value", 'value')}`,
    durability,
    sizeBytes: Number(await one(tx, 'select pg_database_size(current_database()) as bytes', 'bytes')),
  }
}

async function one(tx: Tx, text: string, column: string): Promise<string> {
  const row = await tx.one(sql<Record<string, unknown>>`${sql.raw(text)}`)
  return String(row?.[column] ?? '')
}

/** Time limit in ms for connecting, and also for receiving a notification. */
const HEAR_MS = 5_000
const LONG_MS = 3_600_000

/**
 * Tests on Postgres whether this process receives notifications.
 * @returns `hears` if it does. `deaf` if it can listen but receives none, as with some poolers. `cannot connect` if the
 * connection for listening fails.
 */
export async function probeListening(db: Db): Promise<'hears' | 'deaf' | 'cannot connect'> {
  const stop = new AbortController()
  const listening = db.listen(stop.signal)
  try {
    // A new connection notifies every topic. If no notification arrives, the connection failed.
    if (!(await heard(db))) return 'cannot connect'
    await db.write('doctor', async (tx) => tx.notifyOthers('outbox'))
    return (await heard(db)) ? 'hears' : 'deaf'
  } finally {
    stop.abort()
    await listening
  }
}

async function heard(db: Db): Promise<boolean> {
  const over = new AbortController()
  try {
    return await endsWithin(db.clock, HEAR_MS, db.signals.wait('outbox', LONG_MS, over.signal))
  } finally {
    over.abort()
  }
}
