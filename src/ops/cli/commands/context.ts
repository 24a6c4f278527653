import { existsSync } from 'node:fs'
import { open as openFile, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '../../../base/clock.ts'
import { codeOf, messageOf, PermanentError, UsageError } from '../../../base/errors.ts'
import type { Host } from '../../../base/host.ts'
import { createLog, type Log } from '../../../base/log.ts'
import { silentObserver } from '../../../base/observer.ts'
import { type Config, loadConfig } from '../../../config/config.ts'
import { protectionSettings } from '../../../config/protect.ts'
import { Protection } from '../../../model/protection/protection.ts'
import { checkLogEpoch, newEpochText } from '../../../store/changes/log-epoch.ts'
import { hasInfo } from '../../../store/changes/log-info.ts'
import type { DatabaseConfig, Db } from '../../../store/engine/db.ts'
import { checkSchema, type MigrateOptions, migrate } from '../../../store/migrate/migrate.ts'
import { openDb } from '../../../store/open/open.ts'
import { requireDatabaseFile } from '../../../store/open/serve-lock.ts'
import type { ProcessRole } from '../../../store/upkeep/processes.ts'
import type { ActionContext } from '../../actions/context.ts'
import { type Printer, printerTo } from '../../operations/printer.ts'
import { destinationProblems } from '../destination-problems.ts'

/** `folder`: for the database; undefined creates a new folder. `hold`: keep everything running after the demo. */
export interface DemoCommandOptions {
  readonly folder: string | undefined
  readonly hold: boolean
}

/** Functions of the program that commands call. */
export interface Parts {
  /**
   * Serves until the host's signal aborts.
   * @param load returns the validated settings. `serve` calls `load` at the start and at each reload.
   */
  serve(load: () => Promise<Config>, role: Exclude<ProcessRole, 'sync' | 'reconcile' | 'verify'>): Promise<void>
  /** Serves the emulator until the host's signal aborts. @param options command-line options. */
  sandbox(options: Readonly<Record<string, unknown>>): Promise<void>
  /** @returns true if service, mirror, and AMS agree at the end, and the exported record is valid. */
  demo(options: DemoCommandOptions): Promise<boolean>
}

const WIDTH = 80
const NARROWEST = 40

/** Context of every command. `exitCode` is 0 unless the command sets another code. */
export interface CommandContext {
  readonly host: Host
  readonly clock: Clock
  readonly version: string
  readonly parts: Parts
  exitCode: number
}

export interface OpenStore {
  readonly config: Config
  readonly db: Db
  readonly log: Log
}

export interface StoreUse {
  /** `needed`: the command fails without a configured account. */
  readonly accounts: 'needed' | 'optional'
  /** True if the command may create or migrate the database, as `serve` does. */
  readonly prepare: boolean
  /** True if the command only reads. Such a command begins no log epoch, even in a restored database. */
  readonly looksOnly?: boolean
  /** Problems of the command line, to report together with problems of the settings. */
  readonly problems: readonly string[]
  /** Checks the command line against the settings. @throws UsageError if an option doesn't fit the settings. */
  readonly check?: (config: Config) => unknown
}

/**
 * Opens the database for a command and closes it afterwards.
 * @throws UsageError with every problem of the command line and the settings.
 */
export async function withStore(c: CommandContext, use: StoreUse, work: (store: OpenStore) => Promise<void>): Promise<void> {
  const config = settingsOf(c, use)
  const { database } = config
  requireDatabaseFile(database)
  const isMissing = isMissingFile(database)
  if (isMissing && !use.prepare) throw missingDatabase(database)
  const log = silentLog()
  const db = await openDb(database, {
    clock: c.clock,
    log,
    protection: new Protection(protectionSettings(config)),
    listsDocuments: config.documents.mode !== 'off',
  })
  try {
    if (use.prepare && config.migrateOnStart) await migrate(db, undefined, migrating(c))
    else await checkSchema(db)
    // Like `serve`, a command that applies data begins a new log epoch in a restored database. A command that
    // only reads fails if the table `mirror_info` has no row.
    if (use.looksOnly) await refuseWithoutInfo(db)
    else if (use.accounts === 'needed') {
      const epoch = await checkLogEpoch(db)
      // Print the new epoch now: `serve` reports only an epoch that it begins itself.
      if (epoch !== null) c.host.stderr.write(`${newEpochText(epoch)}\n`)
    }
    // Print the path of a created database. If the folder is wrong, `serve` doesn't use this database.
    if (isMissing) c.host.stderr.write(`created a new database at ${resolve(database.path)}; to use another one, set DATABASE_URL\n`)
    await work({ config, db, log })
  } finally {
    await db.close()
  }
}

function isMissingFile(database: DatabaseConfig): database is Extract<DatabaseConfig, { kind: 'sqlite' }> {
  return database.kind === 'sqlite' && !existsSync(database.path)
}

function missingDatabase({ path }: { readonly path: string }): UsageError {
  return new UsageError([`there is no database at ${resolve(path)}; set DATABASE_URL, or create it with \`submission-mirror serve\``])
}

/**
 * @returns the settings of the database, for a command that opens the database itself.
 * @throws UsageError with every problem of the command line and the settings, or if the SQLite file doesn't exist.
 */
export function databaseOf(c: CommandContext, problems: readonly string[]): DatabaseConfig {
  const { database } = settingsOf(c, { accounts: 'optional', problems })
  requireDatabaseFile(database)
  if (isMissingFile(database)) throw missingDatabase(database)
  return database
}

async function refuseWithoutInfo(db: Db): Promise<void> {
  if (await hasInfo(db.read)) return
  const advice = 'the next start of `serve`, or a reconcile run without --dry-run, creates it again, with a new log epoch'
  throw new PermanentError(`the row of mirror_info was deleted; ${advice}`)
}

/** @returns options for a migration. The migration prints what it waits for. Stopping the command ends the wait. */
export function migrating({ host }: CommandContext): MigrateOptions {
  return { onWait: (sentence) => void host.stderr.write(`${sentence}\n`), signal: host.signal }
}

type SettingsUse = Pick<StoreUse, 'accounts' | 'problems' | 'check'>

/** Reads the settings. @throws UsageError with the problems of the command line, then those of the settings. */
export function settingsOf(c: CommandContext, { accounts, problems, check }: SettingsUse): Config {
  try {
    const config = loadConfig(c.host.env, accounts === 'needed' ? 'accounts' : 'database')
    check?.(config)
    if (problems.length === 0) return config
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError([...problems, ...error.problems])
  }
  throw new UsageError(problems)
}

/** Reads the settings for a command that sends to destinations. Also checks the templates of the destinations. */
export async function sendingSettingsOf(c: CommandContext, use: SettingsUse): Promise<Config> {
  const config = settingsOf(c, use)
  const problems = await destinationProblems(config.destinations)
  if (problems.length > 0) throw new UsageError(problems)
  return config
}

export function actionContextOf(c: CommandContext, db: Db): ActionContext {
  return { db, clock: c.clock, signal: c.host.signal, observer: silentObserver, who: 'command' }
}

/** @returns a log without output. Commands print their results instead. */
export function silentLog(): Log {
  return createLog({ level: 'silent', pretty: false, secrets: [], destination: { write() {} } })
}

/**
 * @returns the line width in characters, from COLUMNS or the terminal.
 * Output to a file or pipe has no limit, so that ids stay complete.
 */
export function widthOf({ host }: CommandContext): number {
  const wanted = Number(host.env['COLUMNS']) || (host.stdout.columns ?? (host.stdout.isTTY ? WIDTH : Number.POSITIVE_INFINITY))
  return Math.max(NARROWEST, wanted)
}

export function printerOf(c: CommandContext): Printer {
  return printerTo((text) => c.host.stdout.write(text), c.clock.now(), widthOf(c))
}

export function printJson(c: CommandContext, value: unknown): void {
  c.host.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

/**
 * Writes a new file, and removes it if writing fails.
 * @throws UsageError if the file exists or can't be created.
 */
export async function writeNewFile({ host }: CommandContext, path: string, open: () => Promise<Readable>): Promise<void> {
  const file = await openFile(path, 'wx', 0o600).catch((error: unknown) => {
    const known = codeOf(error) === 'EEXIST'
    throw new UsageError([known ? `${path} already exists; choose another file` : `${path} cannot be written (${messageOf(error)})`])
  })
  try {
    await pipeline(await open(), file.createWriteStream(), { signal: host.signal })
  } catch (error) {
    await file.close()
    await rm(path, { force: true })
    throw error
  }
}
