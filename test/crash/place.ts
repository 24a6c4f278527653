import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import pg from 'pg'
import type { DatabaseConfig } from '../../src/store/engine/db.ts'
import { newPostgres, newSqlite } from '../tools/databases.ts'
import { until } from '../tools/until.ts'

/** Files of a SQLite database. The log comes first: see `keep`. */
const FILES = ['-wal', '', '-mark']

export interface CrashPlace {
  readonly config: DatabaseConfig
  /** Keeps what a SIGKILL would leave on the disk now, for a product in this process. */
  keep(): void
  /** Resolves when no statement of a killed product is running. */
  quiet(): Promise<void>
  remove(): Promise<void>
}

export function sqlitePlace(): CrashPlace {
  const { config, remove } = newSqlite()
  const { path } = config
  const kept = (ending: string) => `${path}-killed${ending}`
  return {
    config,
    remove,
    keep() {
      // A checkpoint may copy pages from the log now. The log was kept first, so it has all of them.
      for (const ending of FILES) if (existsSync(`${path}${ending}`)) copyFileSync(`${path}${ending}`, kept(ending))
    },
    async quiet() {
      if (!existsSync(kept(''))) return
      await until(`nothing has ${path} open`, () => !openFiles().some((file) => file.startsWith(path)))
      for (const ending of [...FILES, '-shm']) if (ending !== '') rmSync(`${path}${ending}`, { force: true })
      // Reuses the file; the product would recognize another one as a copy.
      for (const ending of FILES) {
        if (existsSync(kept(ending))) copyFileSync(kept(ending), `${path}${ending}`)
        rmSync(kept(ending), { force: true })
      }
    },
  }
}

/** Open file descriptors. One may be closed between two calls. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((number) => {
    try {
      return readlinkSync(`/proc/self/fd/${number}`)
    } catch {
      return []
    }
  })
}

/** A separate database on the server at `url`, so that its connections can be identified. */
export async function postgresPlace(url: string): Promise<CrashPlace> {
  const name = `crash_${randomBytes(6).toString('hex')}`
  const own = new URL(url)
  own.pathname = name
  await query(url, `create database ${name}`)
  return {
    config: newPostgres(own.href).config,
    keep() {},
    async quiet() {
      // The server needs a moment to end the transaction of a lost client.
      const text = 'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = $1'
      await until('all connections of a killed product are gone', async () => (await query(own.href, text, ['client backend'])) === 0)
    },
    async remove() {
      await query(url, `drop database ${name} with (force)`)
    },
  }
}

async function query(url: string, text: string, values: string[] = []): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows.length
  } finally {
    await client.end()
  }
}
