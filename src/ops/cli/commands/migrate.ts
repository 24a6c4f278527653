import type { Command } from 'commander'
import { FatalError, UsageError } from '../../../base/errors.ts'
import { beginLogEpoch, newEpochText } from '../../../store/changes/log-epoch.ts'
import { grantReader } from '../../../store/migrate/grant-reader.ts'
import { migrate } from '../../../store/migrate/migrate.ts'
import { missingParts, missingText } from '../../../store/migrate/schema-parts.ts'
import { openDb } from '../../../store/open/open.ts'
import { requireDatabaseFile } from '../../../store/open/serve-lock.ts'
import { auditedDb } from '../../../store/operators/actions.ts'
import { type CommandContext, migrating, settingsOf, silentLog } from './context.ts'

/** Adds the command `migrate [--grant-reader ROLE [--without-personal]] [--new-epoch]`. */
export function addMigrate(program: Command, c: CommandContext): void {
  program
    .command('migrate')
    .description('migrate the database, and grant a role read access to the public tables')
    .option('--grant-reader <role>', 'Postgres: let this role read only the public tables and views')
    .option(
      '--without-personal',
      'with --grant-reader: exclude columns that may contain personal data (names, free text, documents, `raw`)',
    )
    .option('--new-epoch', 'begin a new log epoch, after a restore without `submission-mirror restore`')
    .action(async (options: { grantReader?: string; withoutPersonal?: boolean; newEpoch?: boolean }) => {
      const { grantReader: role, withoutPersonal = false } = options
      const problems = withoutPersonal && role === undefined ? ['--without-personal requires --grant-reader ROLE'] : []
      const config = settingsOf(c, { accounts: 'optional', problems })
      if (role !== undefined && config.database.kind === 'sqlite') {
        throw new UsageError(['--grant-reader: SQLite has no roles; give the reader access to the file'])
      }
      requireDatabaseFile(config.database)
      const db = await openDb(config.database, { clock: c.clock, log: silentLog() })
      try {
        const taken = await migrate(db, undefined, migrating(c))
        if (taken.length > 0) c.host.stdout.write(`migrated: ${taken.join(', ')}\n`)
        const missing = await missingParts(db.read)
        if (missing.length > 0) throw new FatalError(`the database is incomplete: ${missingText(missing)}`)
        if (taken.length === 0) c.host.stdout.write('nothing to migrate\n')
        if (options.newEpoch) {
          const note = { who: 'command', action: 'log.new-epoch', target: null, detail: {} }
          c.host.stdout.write(`${newEpochText(await beginLogEpoch(auditedDb(db, note), 'command'))}\n`)
        }
        if (role === undefined) return
        const note = { who: 'command', action: 'reader.grant', target: role, detail: { without_personal: withoutPersonal } }
        await grantReader(auditedDb(db, note), role, { withoutPersonal })
        const without = withoutPersonal ? ', except columns that may contain personal data; its queries must list their columns' : ''
        c.host.stdout.write(`${role} may read the public tables and views${without}\n`)
      } finally {
        await db.close()
      }
    })
}
