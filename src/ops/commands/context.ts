import { existsSync } from 'node:fs'
import type { Clock } from '../../clock.ts'
import { type Config, loadConfig } from '../../config.ts'
import { UsageError } from '../../errors.ts'
import { createLog, type Log } from '../../log.ts'
import type { Db } from '../../store/db.ts'
import { checkSchema, migrate, SchemaBehindError } from '../../store/migrate.ts'
import { openDb } from '../../store/open.ts'
import type { ProcessRole } from '../../store/processes.ts'
import type { Host } from '../host.ts'
import { knownNames } from '../known-names.ts'

/** What the commands need of the parts of the program that lie above or beside them. */
export interface Parts {
  /** Serves until the host's signal aborts. @param config see `loadConfig`. */
  serve(config: Config, role: Exclude<ProcessRole, 'sync'>): Promise<void>
  /** Serves the emulator until the host's signal aborts. @param options as they stand on the command line. */
  sandbox(options: Readonly<Record<string, unknown>>): Promise<void>
}

/** What every command gets. A command's exit code is 0 unless it says otherwise. */
export interface CommandContext {
  readonly host: Host
  readonly clock: Clock
  readonly version: string
  readonly parts: Parts
  exitCode: number
}

/** An open store with the settings it was opened by. */
export interface OpenStore {
  readonly config: Config
  readonly db: Db
  readonly log: Log
}

export interface StoreUse {
  /** Whether the command is of no use without an account in the settings. */
  readonly accounts: 'needed' | 'optional'
  /** Whether the database may be made or migrated by this command, as `serve` would. */
  readonly prepare: boolean
  /** What is wrong with the command line; told together with what is wrong with the settings. */
  readonly problems: readonly string[]
}

/**
 * Opens the store for a command and closes it afterwards.
 * @throws UsageError with every problem of command line and settings.
 */
export async function withStore(c: CommandContext, use: StoreUse, work: (store: OpenStore) => Promise<void>): Promise<void> {
  const config = settingsOf(c, use)
  const { database } = config
  if (database.kind === 'sqlite' && !use.prepare && !existsSync(database.path)) {
    throw new UsageError([`there is no database at ${database.path}; set DATABASE_URL, or make one with \`submission-mirror serve\``])
  }
  const log = silentLog()
  const db = await openDb(database, { clock: c.clock, log })
  try {
    if (use.prepare && config.migrateOnStart) await migrate(db)
    else await checkPrepared(db)
    await work({ config, db, log })
  } finally {
    await db.close()
  }
}

/** A database without its tables is a mistake of whoever called, as a missing file is: both databases end in the same exit code. */
async function checkPrepared(db: Db): Promise<void> {
  try {
    await checkSchema(db)
  } catch (error) {
    throw error instanceof SchemaBehindError ? new UsageError([error.message], { cause: error }) : error
  }
}

/** The settings. @throws UsageError with their problems behind those of the command line. */
export function settingsOf(c: CommandContext, use: Pick<StoreUse, 'accounts' | 'problems'>): Config {
  const problems = [...use.problems]
  let config: Config | undefined
  try {
    config = loadConfig(c.host.env, { needs: use.accounts === 'needed' ? 'accounts' : 'database', known: knownNames })
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    problems.push(...error.problems)
  }
  if (problems.length > 0 || config === undefined) throw new UsageError(problems)
  return config
}

/**
 * The account that a command is about.
 * @param name as given on the command line; when left out it is the default account, or the only one.
 * @throws UsageError when there is no such account, or none was named and several are configured.
 */
export function accountOf(config: Config, name: string | undefined): Config['accounts'][number] {
  const names = config.accounts.map((account) => account.name).join(', ')
  if (name !== undefined) {
    const account = config.accounts.find((each) => each.name === name)
    if (account) return account
    throw new UsageError([`--account: there is no account ${JSON.stringify(name)} in the settings; there is ${names}`])
  }
  const [only, ...others] = config.accounts
  const account = config.accounts.find((each) => each.isDefault) ?? (others.length === 0 ? only : undefined)
  if (account) return account
  throw new UsageError([`--account: several accounts are configured and none is the default; name one of ${names}`])
}

/** The destination that a command is about. @throws UsageError when the settings have none of that name. */
export function destinationOf(config: Config, name: string): Config['destinations'][number] {
  const found = config.destinations.find((each) => each.name === name)
  if (found) return found
  const names = config.destinations.map((each) => each.name).join(', ')
  throw new UsageError([`there is no destination ${JSON.stringify(name)} in the settings; there is ${names || 'none'}`])
}

/** Commands log nothing: they say what they have to say themselves. */
export function silentLog(): Log {
  return createLog({ level: 'silent', pretty: false, secrets: [], destination: { write() {} } })
}

/** Writes a value as JSON, for programs. */
export function printJson(c: CommandContext, value: unknown): void {
  c.host.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}
