import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { lostNumbers, type SqliteFacts } from '../../store/backup/facts.ts'
import type { DatabaseConfig } from '../../store/engine/db.ts'
import { requireDatabaseFile } from '../../store/open/serve-lock.ts'
import { MismatchError } from '../output/refusals.ts'

/**
 * @returns the file that a backup copies.
 * @throws MismatchError when the database of the settings is Postgres, or is not there.
 */
export function sqliteFileOf(database: DatabaseConfig): string {
  if (database.kind === 'postgres') {
    throw new MismatchError([
      'backup is for SQLite; this database is Postgres: back it up with pg_dump or with the server itself, as docker/README.md, "Back up and restore", tells',
    ])
  }
  requireDatabaseFile(database)
  if (!existsSync(database.path)) throw new MismatchError([`there is no database at ${resolve(database.path)}; set DATABASE_URL`])
  return database.path
}

/** What a copy holds, under the names that programs read. `lost`: numbers of the change log that have no row. */
export function namedFacts(facts: SqliteFacts) {
  const { schemaVersion, logEpoch, firstSeq, lastSeq, rows } = facts
  return { schema_version: schemaVersion, log_epoch: logEpoch, first_seq: firstSeq, last_seq: lastSeq, lost: lostNumbers(facts), rows }
}
