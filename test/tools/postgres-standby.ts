import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { newServer, type PostgresServer, type Server } from './postgres-server.ts'
import { until } from './until.ts'

/** Settings of a server with standbys, which may become one. */
export const REPLICATED = ['wal_keep_size=512MB', 'wal_retrieve_retry_interval=50ms', 'max_wal_senders=10', 'hot_standby=on'] as const

/** Not copied: belongs to the running server. Of these folders only the folders are copied. */
const NOT_COPIED = ['postmaster.pid', 'postmaster.opts', 'standby.signal', 'backup_label']
const EMPTIED = ['pg_wal', 'pg_replslot', 'pg_dynshmem', 'pg_notify', 'pg_serial', 'pg_snapshots', 'pg_stat_tmp', 'pg_subtrans']

export interface StandbyOptions {
  readonly fsync?: boolean
  /** Its `synchronous_standby_names` after a promotion. */
  readonly waitsFor?: string
}

/**
 * Copies a running server and starts the copy as its standby, which follows it by streaming. Waits until it streams.
 * @param primary started with the settings `REPLICATED`, or made here and promoted.
 * @param name its `application_name`, for `synchronous_standby_names`.
 */
export async function startStandby(primary: PostgresServer, name: string, options: StandbyOptions = {}): Promise<Server> {
  const standby = await newServer({ ...options, settings: REPLICATED, password: primary.password })
  await follow(standby, primary, name, options)
  return standby
}

/** Replaces the data of a stopped server, and starts it as a standby of `primary` from a new copy. Waits until it streams. */
export async function follow(
  standby: Server,
  primary: PostgresServer,
  name: string,
  { waitsFor = '' }: StandbyOptions = {},
): Promise<void> {
  await rm(standby.data, { recursive: true, force: true })
  await makeFolder(standby, standby.data)
  // `alter system` settings are copied too; the last line of a name counts.
  const from = `host=127.0.0.1 port=${primary.port} user=postgres password=${primary.password} application_name=${name}`
  const label = await backup(primary, () => copyFolder(standby, primary.data, ''))
  await writeOwned(standby, 'backup_label', label)
  await writeOwned(standby, 'standby.signal', '')
  await writeOwned(standby, 'postgresql.auto.conf', `primary_conninfo = '${from}'\nsynchronous_standby_names = '${waitsFor}'\n`)
  await standby.start()
  await ask(primary, async (client) => {
    await until(`${name} follows`, async () => {
      const { rowCount } = await client.query("select 1 from pg_stat_replication where application_name = $1 and state = 'streaming'", [
        name,
      ])
      return rowCount === 1
    })
  })
}

/** Promotes a standby to a new timeline, and waits until it is writable. Its standbys still follow the old primary. */
export async function promote(standby: PostgresServer): Promise<void> {
  await ask(standby, async (client) => {
    const { rows } = await client.query<{ done: boolean }>('select pg_promote(true, 60) as done')
    if (rows[0]?.done !== true) throw new Error('the standby could not be promoted within 60 s')
  })
}

/** Sets `synchronous_standby_names` on a primary: commits wait for those standbys; empty: for none. */
export async function waitFor(primary: PostgresServer, names: string): Promise<void> {
  await ask(primary, async (client) => {
    await client.query(`alter system set synchronous_standby_names = ${pg.escapeLiteral(names)}`)
    await client.query('select pg_reload_conf()')
    await until('the setting is read', async () => {
      const { rows } = await client.query<{ now: string }>("select current_setting('synchronous_standby_names') as now")
      return rows[0]?.now === names
    })
  })
}

export async function ask<T>(server: PostgresServer, question: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: server.url, application_name: 'test' })
  client.on('error', () => {})
  await client.connect()
  try {
    return await question(client)
  } finally {
    await client.end()
  }
}

/** @returns the copy's `backup_label`, with its starting point in the log. */
async function backup(primary: PostgresServer, copy: () => Promise<void>): Promise<string> {
  return ask(primary, async (client) => {
    await client.query("select pg_backup_start('copy', true)")
    await copy()
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
    return rows[0]?.labelfile ?? ''
  })
}

async function copyFolder(standby: Server, from: string, inside: string): Promise<void> {
  for (const entry of await readdir(join(from, inside), { withFileTypes: true })) {
    const path = join(inside, entry.name)
    if (NOT_COPIED.includes(path)) continue
    if (entry.isDirectory()) {
      await makeFolder(standby, join(standby.data, path))
      if (!EMPTIED.includes(path)) await copyFolder(standby, from, path)
    } else {
      await copyOne(standby, join(from, path), join(standby.data, path))
    }
  }
}

async function copyOne(standby: Server, from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to)
  } catch (error) {
    // Removed in between, as the log of the copy shows.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  standby.own(to)
}

async function makeFolder(standby: Server, path: string): Promise<void> {
  await mkdir(path, { mode: 0o700, recursive: true })
  standby.own(path)
}

async function writeOwned(standby: Server, name: string, text: string): Promise<void> {
  const path = join(standby.data, name)
  await writeFile(path, text, { mode: 0o600 })
  standby.own(path)
}
