import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { messageOf, UsageError } from '../../../base/errors.ts'
import { type Config, loadConfig } from '../../../config/config.ts'
import { createDocumentStorage } from '../../../documents/storage/create.ts'
import { FolderStorage } from '../../../documents/storage/folder.ts'
import { type Moved, moveDocuments } from '../../../documents/storage/move.ts'
import { type Copied, copyDatabase } from '../../../store/backup/copy.ts'
import { storedFiles } from '../../../store/backup/stored-documents.ts'
import type { DatabaseConfig, Db } from '../../../store/engine/db.ts'
import { migrate } from '../../../store/migrate/migrate.ts'
import { openDb } from '../../../store/open/open.ts'
import { acquireServeLock, isServeLockHeld } from '../../../store/open/serve-lock.ts'
import { pluralize } from '../../output/text.ts'
import { exitCodes } from '../exit-codes.ts'
import { type CommandContext, migrating, printJson, settingsOf, silentLog, withStore } from './context.ts'

interface MovedTo extends Moved {
  readonly from: string
  /** Folder that the documents were copied to; null if the documents stay in place. */
  readonly to: string | null
}

interface CopyOptions {
  readonly to?: string
  readonly toFile?: string
  readonly schema?: string
  readonly documentsTo?: string
  readonly json?: boolean
}

/** Adds the command `copy --to URL|--to-file FILE [--schema NAME] [--documents-to DIR] [--json]`. */
export function addCopy(program: Command, c: CommandContext): void {
  program
    .command('copy')
    .description('move the mirror from SQLite to Postgres or back; first stop `serve`, or run only `serve --role receive`')
    .option('--to <url>', 'the target database, such as sqlite:data/mirror.db; it must be empty, or have an interrupted copy to continue')
    .option('--to-file <file>', 'a file with the target URL; keeps its password out of the process list')
    .option('--schema <name>', 'the target schema in Postgres (default: mirror)')
    .option('--documents-to <folder>', 'a folder to copy the documents to (default: they stay in place, and are checked)')
    .option('--json', 'as JSON, for programs')
    .action(async (options: CopyOptions) => {
      const config = settingsOf(c, { accounts: 'optional', problems: [] })
      const source = config.database
      const target = targetOf(c, options)
      refuseSameKind(source, target)
      await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
        await withTarget(c, target, async (to) => {
          const lock = source.kind === 'sqlite' && !isServeLockHeld(source) ? await acquireServeLock(source) : null
          try {
            // Copy the documents before the database, so that the target is never served without documents.
            // After an interruption, the same command completes the copy.
            const documents = await moved(c, db, config, options)
            const copied = await copyDatabase({
              source: db,
              target: to,
              signal: c.host.signal,
              onTable: (...done) => reportTable(c, ...done),
            })
            report(c, copied, target, documents, options.json)
          } finally {
            lock?.release()
          }
        })
      })
    })
}

/** @returns the settings of the target database. @throws UsageError if the options are invalid. */
function targetOf(c: CommandContext, { to, toFile, schema }: CopyOptions): DatabaseConfig {
  if ((to === undefined) === (toFile === undefined)) throw new UsageError(['set the target database with either --to or --to-file'])
  const { DATABASE_URL_FILE: _, DATABASE_LISTEN_URL: __, DATABASE_LISTEN_URL_FILE: ___, ...env } = c.host.env
  try {
    const settings = { ...env, DATABASE_URL: to ?? textOf(toFile ?? ''), DATABASE_SCHEMA: schema ?? '' }
    return loadConfig(settings, 'database').database
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(error.problems.map((problem) => problem.replace('DATABASE_URL', '--to').replace('DATABASE_SCHEMA', '--schema')))
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new UsageError([`--to-file ${file} cannot be read (${messageOf(error)})`])
  }
}

function refuseSameKind(source: DatabaseConfig, target: DatabaseConfig): void {
  if (source.kind !== target.kind) return
  const instead =
    source.kind === 'sqlite'
      ? 'from SQLite to SQLite use `submission-mirror backup` and `restore`'
      : 'from Postgres to Postgres use pg_dump'
  throw new UsageError([`copy moves between SQLite and Postgres; ${instead}`])
}

/** Opens and migrates the target database. On SQLite, holds the lock that `serve` needs, so no `serve` can start. */
async function withTarget(c: CommandContext, database: DatabaseConfig, work: (db: Db) => Promise<void>): Promise<void> {
  const lock = database.kind === 'sqlite' ? await acquireServeLock(database) : null
  try {
    const db = await openDb(database, { clock: c.clock, log: silentLog() })
    try {
      await migrate(db, undefined, migrating(c))
      await work(db)
    } finally {
      await db.close()
    }
  } finally {
    lock?.release()
  }
}

function reportTable(c: CommandContext, done: 'copied' | 'verified', table: string, rows: number): void {
  c.host.stderr.write(`${done} ${table}: ${pluralize(rows, 'row')}\n`)
}

/** Copies the documents to `documentsTo`. If `documentsTo` is undefined, checks the original files instead. */
async function moved(c: CommandContext, db: Db, config: Config, { documentsTo }: CopyOptions): Promise<MovedTo> {
  const from = createDocumentStorage(config)
  const to = documentsTo === undefined ? null : new FolderStorage(resolve(documentsTo))
  const done = await moveDocuments(storedFiles(db.read), from, to, c.host.signal)
  return { ...done, from: from.place, to: to?.place ?? null }
}

function report(c: CommandContext, { rows, isComplete }: Copied, target: DatabaseConfig, documents: MovedTo, asJson = false): void {
  if (documents.faulty.length > 0) c.exitCode = exitCodes.failed
  if (!isComplete) c.exitCode = exitCodes.busy
  if (asJson) {
    const { files, bytes, copied, faulty } = documents
    printJson(c, { complete: isComplete, rows, documents: { files, bytes, copied, faulty } })
    return
  }
  const all = Object.values(rows).reduce((sum, count) => sum + count, 0)
  const same = `${pluralize(all, 'row')} of ${pluralize(Object.keys(rows).length, 'table')} are identical in both databases`
  const place = target.kind === 'sqlite' ? resolve(target.path) : 'that Postgres database'
  const next = isComplete
    ? `set DATABASE_URL to ${place} and start \`serve\`; readers and destinations continue at their positions`
    : 'deliveries are still arriving: stop `serve --role receive` and run this command again to copy the rest'
  c.host.stdout.write(`${same}; ${documentsText(documents)}; ${next}\n`)
}

function documentsText({ files, copied, faulty, from, to }: MovedTo): string {
  const [first] = faulty
  const count = pluralize(files, 'document')
  if (first !== undefined)
    return `${faulty.length} of ${count} are missing or damaged in ${from} (first: ${first}); restore them there from a backup`
  return to === null ? `${count} are in ${from}` : `${count} are in ${to} (${copied} copied now); set DOCUMENTS_DIR to it`
}
