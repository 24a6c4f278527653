import type { Command } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import { restoreSqlite } from '../../../store/backup/restore.ts'
import { newEpochText } from '../../../store/changes/log-epoch.ts'
import { factsText, lostText, namedFacts } from '../../actions/backup.ts'
import { type CommandContext, printJson, settingsOf, silentLog } from './context.ts'

/** Adds the command `restore FILE [--json]`. */
export function addRestore(program: Command, c: CommandContext): void {
  program
    .command('restore')
    .description('SQLite: replace the database with a backup, and begin a new log epoch; stop `serve` first')
    .argument('<file>', 'the backup; it is not changed')
    .option('--json', 'as JSON, for programs')
    .action(async (file: string, options: { json?: boolean }) => {
      const { database } = settingsOf(c, { accounts: 'optional', problems: [] })
      if (database.kind === 'postgres') {
        throw new UsageError([
          'restore is for SQLite, but this database is Postgres: use pg_restore or the tools of the server, then run `submission-mirror migrate --new-epoch`; see docker/backups.md, "Restore"',
        ])
      }
      const { facts, migrated, epoch, previous, leftovers } = await restoreSqlite(database, file, {
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
        ...(previous === null && leftovers.length > 0 ? [`leftover files of a missing database are kept as ${leftovers.join(', ')}`] : []),
        'now start `serve`, track submissions that were added since the backup, and run `submission-mirror reconcile`',
      ]
      c.host.stdout.write(`${lines.join('\n')}\n`)
    })
}
