import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { lostNumbers, type SqliteFacts } from '../../store/backup/facts.ts'
import type { DatabaseConfig } from '../../store/engine/db.ts'
import { requireDatabaseFile } from '../../store/open/serve-lock.ts'
import { MismatchError } from '../output/refusals.ts'
import { pluralize } from '../output/text.ts'

/**
 * @returns the path of the SQLite database.
 * @throws MismatchError when the configured database is Postgres, or does not exist.
 */
export function sqliteFileOf(database: DatabaseConfig): string {
  if (database.kind === 'postgres') {
    throw new MismatchError([
      'backup is for SQLite, and this database is Postgres: use pg_dump or the server itself; see docker/README.md, "Back up and restore"',
    ])
  }
  requireDatabaseFile(database)
  if (!existsSync(database.path)) throw new MismatchError([`there is no database at ${resolve(database.path)}; set DATABASE_URL`])
  return database.path
}

/** What a copy holds, with the JSON keys of the contract. `lost`: how many numbers of the change log have no row. */
export function namedFacts(facts: SqliteFacts) {
  const { schemaVersion, logEpoch, firstSeq, lastSeq, rows } = facts
  return { schema_version: schemaVersion, log_epoch: logEpoch, first_seq: firstSeq, last_seq: lastSeq, lost: lostNumbers(facts), rows }
}

type NamedFacts = ReturnType<typeof namedFacts>

/** What a copy holds, in words. */
export function factsText({ schema_version: schemaVersion, last_seq: lastSeq, rows }: NamedFacts): string {
  const count = (table: string, word: string) => pluralize(rows[table] ?? 0, word)
  const records = [count('submissions', 'submission'), count('market_events', 'event'), count('thread_messages', 'message')]
  return `${records.join(', ')}, the change log up to ${lastSeq}, schema version ${schemaVersion}`
}

/** A line about missing changes, if there are any. */
export function lostText({ lost: numbers }: NamedFacts): string[] {
  if (numbers === 0) return []
  return [
    `its change log has no row for ${numbers} of its numbers, as in the database that was backed up; \`submission-mirror reconcile\` tells of them`,
  ]
}
