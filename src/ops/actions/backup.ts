import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { lostNumbers, type SqliteFacts } from '../../store/backup/facts.ts'
import type { DatabaseConfig } from '../../store/engine/db.ts'
import { requireDatabaseFile } from '../../store/open/serve-lock.ts'
import { MismatchError } from '../output/refusals.ts'
import { pluralize } from '../output/text.ts'

/**
 * @returns the path of the SQLite database.
 * @throws MismatchError if the database is Postgres or the file does not exist.
 */
export function sqliteFileOf(database: DatabaseConfig): string {
  if (database.kind === 'postgres') {
    throw new MismatchError([
      'backup supports only SQLite, and this database is Postgres. Use pg_dump; see docker/backups.md, "Back up Postgres"',
    ])
  }
  requireDatabaseFile(database)
  if (!existsSync(database.path)) throw new MismatchError([`database ${resolve(database.path)} does not exist. Set DATABASE_URL`])
  return database.path
}

/** @returns a summary of a backup for JSON output. `lost` is the number of rows missing from the change log. */
export function namedFacts(facts: SqliteFacts) {
  const { schemaVersion, logEpoch, firstSeq, lastSeq, rows } = facts
  return { schema_version: schemaVersion, log_epoch: logEpoch, first_seq: firstSeq, last_seq: lastSeq, lost: lostNumbers(facts), rows }
}

type NamedFacts = ReturnType<typeof namedFacts>

/** @returns a sentence about a backup: numbers of submissions, events and messages, last change, schema version. */
export function factsText({ schema_version: schemaVersion, last_seq: lastSeq, rows }: NamedFacts): string {
  const count = (table: string, word: string) => pluralize(rows[table] ?? 0, word)
  const records = [count('submissions', 'submission'), count('market_events', 'event'), count('thread_messages', 'message')]
  return `${records.join(', ')}, the change log up to ${lastSeq}, schema version ${schemaVersion}`
}

/** @returns one line with the number of rows missing from the change log; an empty list if the log is complete. */
export function lostText({ lost: numbers }: NamedFacts): string[] {
  if (numbers === 0) return []
  return [
    `The change log of the backup lacks ${pluralize(numbers, 'row')}, as does the original database. \`submission-mirror reconcile\` reports them.`,
  ]
}
