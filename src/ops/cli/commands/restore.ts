import type { Command } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import { restoreSqlite } from '../../../store/backup/restore.ts'
import { newEpochText } from '../../../store/changes/log-epoch.ts'
import { factsText, lostText, namedFacts } from '../../actions/backup.ts'
import { type CommandContext, printJson, settingsOf, silentLog } from './context.ts'

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
      const { facts, migrated, epoch, previous, beside } = await restoreSqlite(database, file, {
        clock: c.clock,
        log: silentLog(),
        who: 'command',
      })
      const named = namedFacts(facts)
      if (options.json) {
        printJson(c, { path: database.path, ...named, migrated, log_epoch: epoch.logEpoch, after_seq: epoch.afterSeq, previous })
        return
      }
      const lines = [
        `restored ${database.path} from ${file}: ${factsText(named)}`,
        ...lostText(named),
        ...(migrated.length > 0 ? [`migrated: ${migrated.join(', ')}`] : []),
        newEpochText(epoch),
        ...(previous === null ? [] : [`the previous database is kept as ${previous}; remove it when you no longer need it`]),
        ...(previous === null && beside.length > 0 ? [`what was left of a database that is missing is kept as ${beside.join(', ')}`] : []),
        'now start `serve`, track what became known since the backup, and run `submission-mirror reconcile`',
      ]
      c.host.stdout.write(`${lines.join('\n')}\n`)
    })
}
