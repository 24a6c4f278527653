import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { DatabaseConfig } from '../../src/store/engine/db.ts'
import { waitFor } from '../e2e/agreement.ts'
import { newPostgres, newSqlite } from '../tools/databases.ts'

const PATIENCE_MS = 60_000

/** A database for processes that are killed. */
export interface CrashPlace {
  readonly config: DatabaseConfig
  /** Resolves when nothing of a killed process is under way any more. */
  quiet(): Promise<void>
  remove(): Promise<void>
}

export function sqlitePlace(): CrashPlace {
  return { ...newSqlite(), quiet: () => Promise.resolve() }
}

/** A database of its own on the server at `url`, so that its connections can be told from all others. */
export async function postgresPlace(url: string): Promise<CrashPlace> {
  const name = `crash_${randomBytes(6).toString('hex')}`
  const own = new URL(url)
  own.pathname = name
  await query(url, `create database ${name}`)
  return {
    config: newPostgres(own.href).config,
    async quiet() {
      // The server ends the transaction of a client that is gone, or its commit, when it notices; that takes a moment.
      const text = 'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = $1'
      if (!(await waitFor(async () => (await query(own.href, text, ['client backend'])) === 0, PATIENCE_MS))) {
        throw new Error('connections of a killed process stay')
      }
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
