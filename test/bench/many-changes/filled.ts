import pg from 'pg'
import type { DatabaseConfig } from '../../../src/store/engine/db.ts'
import { type PostgresServer, startPostgres } from '../../tools/postgres-server.ts'
import { openFilled } from '../lookups/filled.ts'
import type { Scale } from '../lookups/rows.ts'

/** Of a server with enough memory for the rows; other settings are defaults. */
const SETTINGS = ['shared_buffers=1GB', 'max_wal_size=4GB']

export function manyChanges(changes: number): Scale {
  return { submissions: 100_000, events: Math.min(1_000_000, changes), changes }
}

export function configOf(url: string): Extract<DatabaseConfig, { kind: 'postgres' }> {
  const secret = { reveal: () => url }
  return { kind: 'postgres', url: secret, schema: 'mirror', listenUrl: secret }
}

/** A server with a filled database in its schema `mirror`. */
export async function startFilled(scale: Scale): Promise<PostgresServer> {
  const server = await startPostgres({ settings: SETTINGS })
  try {
    // Several times faster than with the write-ahead log, with half of the disk space.
    await restartWith(server, { wal_level: 'minimal', max_wal_senders: '0' })
    const db = await openFilled(configOf(server.url), scale)
    await db.close()
    await restartWith(server, { wal_level: null, max_wal_senders: null })
    return server
  } catch (error) {
    await server.remove()
    throw error
  }
}

async function restartWith(server: PostgresServer, settings: Readonly<Record<string, string | null>>): Promise<void> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  for (const [name, value] of Object.entries(settings))
    await client.query(value === null ? `alter system reset ${name}` : `alter system set ${name} = '${value}'`)
  await client.end()
  await server.stop()
  await server.start()
}
