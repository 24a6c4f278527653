import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Clock } from '../../../base/clock.ts'
import { PermanentError, UsageError } from '../../../base/errors.ts'
import type { Host } from '../../../base/host.ts'
import { createLog, type Log } from '../../../base/log.ts'
import { silentObserver } from '../../../base/observer.ts'
import { type Config, loadConfig, SettingsError } from '../../../config/config.ts'
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
import { accountNamed } from '../../actions/names.ts'
import { type Printer, printerTo } from '../../operations/printer.ts'
import { destinationProblems } from '../destination-problems.ts'
import { knownNames } from '../known-names.ts'

/** `folder`: where the database is left, if not in a new one. `hold`: everything keeps running after the end. */
export interface DemoCommandOptions {
  readonly folder: string | undefined
  readonly hold: boolean
}

/** The parts of the program that lie above the commands. */
export interface Parts {
  /** Serves until the host's signal aborts. @param load gives the settings, checked; once at the start, and again for each reload. */
  serve(load: () => Promise<Config>, role: Exclude<ProcessRole, 'sync' | 'reconcile' | 'verify'>): Promise<void>
  /** Serves the emulator until the host's signal aborts. @param options as they stand on the command line. */
  sandbox(options: Readonly<Record<string, unknown>>): Promise<void>
  /** Shows the whole. @returns whether service, mirror and AMS agree at its end. */
  demo(options: DemoCommandOptions): Promise<boolean>
}

/** Columns of a terminal that does not say how many it has, and the fewest that are believed. */
const WIDTH = 80
const NARROWEST = 40

/** What every command gets. The exit code is 0 unless the command sets another. */
export interface CommandContext {
  readonly host: Host
  readonly clock: Clock
  readonly version: string
  readonly parts: Parts
  exitCode: number
}

/** An open database with its settings. */
export interface OpenStore {
  readonly config: Config
  readonly db: Db
  readonly log: Log
}

export interface StoreUse {
  /** Whether the command needs an account in the settings. */
  readonly accounts: 'needed' | 'optional'
  /** Whether the command may create or migrate the database, as `serve` does. */
  readonly prepare: boolean
  /** Whether the command changes nothing: then it begins no log epoch after a restore. */
  readonly looksOnly?: boolean
  /** Problems of the command line, reported together with those of the settings. */
  readonly problems: readonly string[]
  /** Checks the command line against the settings. @throws UsageError */
  readonly check?: (config: Config) => unknown
}

/**
 * Opens the database for a command and closes it afterwards.
 * @throws UsageError with every problem of command line and settings.
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
    // Before anything is applied to a restored backup, as in `serve`: a command that needs an account may apply something.
    if (use.looksOnly) await refuseWithoutInfo(db)
    else if (use.accounts === 'needed') {
      const epoch = await checkLogEpoch(db)
      // `serve` will not report the new epoch again, so this does.
      if (epoch !== null) c.host.stderr.write(`${newEpochText(epoch)}\n`)
    }
    // Started in another folder than `serve`, the command would succeed on a database that nobody uses.
    if (isMissing)
      c.host.stderr.write(
        `there was no database, so one was created at ${resolve(database.path)}; if you meant another, set DATABASE_URL\n`,
      )
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
 * The database of the settings, for a command that opens it by itself.
 * @throws UsageError with every problem of command line and settings, or when there is no such file.
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

/** How a command migrates: it reports what it waits for, and waits until it is stopped. */
export function migrating({ host }: CommandContext): MigrateOptions {
  return { onWait: (sentence) => void host.stderr.write(`${sentence}\n`), signal: host.signal }
}

type SettingsUse = Pick<StoreUse, 'accounts' | 'problems' | 'check'>

/** The settings. @throws UsageError with the problems of the command line, then those of the settings. */
export function settingsOf(c: CommandContext, use: SettingsUse): Config {
  const { config, problems } = readSettings(c, use)
  return soundOr(problems, config)
}

/** The settings for a command that sends to destinations: templates and adapters are checked too. */
export async function sendingSettingsOf(c: CommandContext, use: SettingsUse): Promise<Config> {
  const { config, destinations, problems } = readSettings(c, use)
  return soundOr([...problems, ...(await destinationProblems(destinations))], config)
}

function readSettings(c: CommandContext, { accounts, problems, check }: SettingsUse) {
  try {
    const config = loadConfig(c.host.env, { needs: accounts === 'needed' ? 'accounts' : 'database', known: knownNames })
    return { config, destinations: config.destinations, problems: [...problems, ...problemsOf(() => check?.(config))] }
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    return { config: null, destinations: error.destinations, problems: [...problems, ...error.problems] }
  }
}

function problemsOf(check: () => unknown): readonly string[] {
  try {
    check()
    return []
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return error.problems
  }
}

function soundOr(problems: readonly string[], config: Config | null): Config {
  if (problems.length > 0 || config === null) throw new UsageError(problems)
  return config
}

/**
 * The account of a command.
 * @param name of the option `--account`; undefined for the default account, or the only one.
 * @throws UsageError when there is no such account, or no name is given and several are configured.
 */
export function accountOf(config: Config, name: string | undefined): Config['accounts'][number] {
  return accountNamed(config, name, '--account')
}

/** What an action needs; its audit entry names `command`. */
export function actionContextOf(c: CommandContext, db: Db): ActionContext {
  return { db, clock: c.clock, signal: c.host.signal, observer: silentObserver, who: 'command' }
}

/** Commands log nothing: they print what they have to say. */
export function silentLog(): Log {
  return createLog({ level: 'silent', pretty: false, secrets: [], destination: { write() {} } })
}

/**
 * @returns how many columns a line may take: those that COLUMNS or the terminal have. What goes to a file or a program has no limit, so that ids
 * stay whole.
 */
export function widthOf({ host }: CommandContext): number {
  const wanted = Number(host.env['COLUMNS']) || (host.stdout.columns ?? (host.stdout.isTTY ? WIDTH : Number.POSITIVE_INFINITY))
  return Math.max(NARROWEST, wanted)
}

/** What a command prints with for a person. */
export function printerOf(c: CommandContext): Printer {
  return printerTo((text) => c.host.stdout.write(text), c.clock.now(), widthOf(c))
}

/** Writes a value as JSON, for programs. */
export function printJson(c: CommandContext, value: unknown): void {
  c.host.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}
