import type { Command } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import { backupSqlite, megabytes } from '../../../store/backup/backup.ts'
import { lostNumbers, type SqliteFacts } from '../../../store/backup/facts.ts'
import { restoreSqlite } from '../../../store/backup/restore.ts'
import { newEpochText } from '../../../store/changes/log-epoch.ts'
import { namedFacts, sqliteFileOf } from '../../actions/backup.ts'
import { pluralize } from '../../output/text.ts'
import { type CommandContext, printJson, settingsOf, silentLog } from './context.ts'

/** `backup FILE [--json]` */
export function addBackup(program: Command, c: CommandContext): void {
  program
    .command('backup')
    .description('SQLite: make a consistent copy of the database while it is worked on, and verify it')
    .argument('<file>', 'where to; it must not exist yet')
    .option('--json', 'as JSON, for programs')
    .action(async (file: string, options: { json?: boolean }) => {
      const { database } = settingsOf(c, { accounts: 'optional', problems: [] })
      const source = sqliteFileOf(database)
      const { path, bytes, facts } = await backupSqlite(source, file, c.host.signal)
      if (options.json) printJson(c, { path, bytes, ...namedFacts(facts) })
      else {
        const lines = [
          `backed up ${source} to ${path}, ${megabytes(bytes)}: ${told(facts)}`,
          'verified: its structure is sound, and every table has the rows that the database had',
          ...lost(facts),
        ]
        c.host.stdout.write(`${lines.join('\n')}\n`)
      }
    })
}

/** `restore FILE [--json]` */
export function addRestore(program: Command, c: CommandContext): void {
  program
    .command('restore')
    .description('SQLite: put a backup in the place of the database, and begin a new numbering of changes; `serve` must not run')
    .argument('<file>', 'the backup; it stays as it is')
    .option('--json', 'as JSON, for programs')
    .action(async (file: string, options: { json?: boolean }) => {
      const { database } = settingsOf(c, { accounts: 'optional', problems: [] })
      if (database.kind === 'postgres') {
        throw new UsageError([
          'restore is for SQLite, and this database is Postgres: use pg_restore or the server itself, then run `submission-mirror migrate --new-epoch`; see docker/README.md, "Back up and restore"',
        ])
      }
      const { facts, migrated, epoch, aside } = await restoreSqlite(database, file, { clock: c.clock, log: silentLog(), who: 'command' })
      if (options.json) {
        printJson(c, { path: database.path, ...namedFacts(facts), migrated, log_epoch: epoch.logEpoch, after_seq: epoch.afterSeq, aside })
        return
      }
      const lines = [
        `restored ${database.path} from ${file}: ${told(facts)}`,
        ...lost(facts),
        ...(migrated.length > 0 ? [`migrated: ${migrated.join(', ')}`] : []),
        newEpochText(epoch),
        ...(aside === null ? [] : [`the previous database is kept as ${aside}; remove it when you no longer need it`]),
        'now start `serve`, track what became known since the backup, and run `submission-mirror reconcile`',
      ]
      c.host.stdout.write(`${lines.join('\n')}\n`)
    })
}

function told({ schemaVersion, lastSeq, rows }: SqliteFacts): string {
  const count = (table: string, word: string) => pluralize(rows[table] ?? 0, word)
  const records = [count('submissions', 'submission'), count('market_events', 'event'), count('thread_messages', 'message')]
  return `${records.join(', ')}, the change log up to ${lastSeq}, schema version ${schemaVersion}`
}

/** A line about missing changes, if there are any. */
function lost(facts: SqliteFacts): string[] {
  const numbers = lostNumbers(facts)
  if (numbers === 0) return []
  return [
    `its change log has no row for ${numbers} of its numbers, as in the database that was backed up; \`submission-mirror reconcile\` tells of them`,
  ]
}
