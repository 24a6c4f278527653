import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import pg from 'pg'
import type { DatabaseConfig } from '../../src/store/engine/db.ts'
import { newPostgres, newSqlite } from '../tools/databases.ts'
import { until } from '../tools/until.ts'

/** What a SQLite database consists of, beside what every process makes anew. The log first: see `keep`. */
const FILES = ['-wal', '', '-mark']

/** A database for products that are killed. */
export interface CrashPlace {
  readonly config: DatabaseConfig
  /** For a product in this process, whose sessions end with it: keeps what a SIGKILL at this moment would leave on the disk. */
  keep(): void
  /** Resolves when nothing of a killed product is under way any more, and the database is as it was left. */
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
      // A checkpoint in its thread copies pages from the log into the database meanwhile. All of them are in the log that was kept before.
      for (const ending of FILES) if (existsSync(`${path}${ending}`)) copyFileSync(`${path}${ending}`, kept(ending))
    },
    async quiet() {
      if (!existsSync(kept(''))) return
      await until(`nothing has ${path} open`, () => !openFiles().some((file) => file.startsWith(path)))
      for (const ending of [...FILES, '-shm']) if (ending !== '') rmSync(`${path}${ending}`, { force: true })
      // Into the same file, for the product would know another one to be a copy.
      for (const ending of FILES) {
        if (existsSync(kept(ending))) copyFileSync(kept(ending), `${path}${ending}`)
        rmSync(kept(ending), { force: true })
      }
    },
  }
}

/** What this process has open. A number may be closed between two looks. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((number) => {
    try {
      return readlinkSync(`/proc/self/fd/${number}`)
    } catch {
      return []
    }
  })
}

/** A database of its own on the server at `url`, so that its connections can be told from all others. */
export async function postgresPlace(url: string): Promise<CrashPlace> {
  const name = `crash_${randomBytes(6).toString('hex')}`
  const own = new URL(url)
  own.pathname = name
  await query(url, `create database ${name}`)
  return {
    config: newPostgres(own.href).config,
    keep() {},
    async quiet() {
      // The server ends the transaction of a client that is gone, or its commit, when it notices; that takes a moment.
      const text = 'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = $1'
      await until('all connections of a killed product are gone', async () => (await query(own.href, text, ['client backend'])) === 0)
    },
    async remove() {
      await query(url, `drop database ${name} with (force)`)
    },
  }
}

/** @returns how many rows there are. */
async function query(url: string, text: string, values: string[] = []): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows.length
  } finally {
    await client.end()
  }
}
