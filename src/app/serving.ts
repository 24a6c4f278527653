import { resolve } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { type Clock, systemClock } from '../base/clock.ts'
import { FatalError } from '../base/errors.ts'
import { createLog, KnownSecrets, type Log, type LogOptions } from '../base/log.ts'
import { splitServers } from '../base/postgres-url.ts'
import type { Config } from '../config/config.ts'
import { protectionSettings } from '../config/protect.ts'
import { secretValues } from '../config/secret-values.ts'
import { Protection } from '../model/protection/protection.ts'
import type { ReloadResult } from '../ops/actions/reload.ts'
import { endLapsedSessions } from '../ops/http/api/sessions.ts'
import { openTelemetry } from '../ops/telemetry/telemetry.ts'
import { isUnfinishedCopy, UNFINISHED_COPY } from '../store/backup/copy-progress.ts'
import { repairEnds, wrongEndText } from '../store/changes/log-ends.ts'
import { checkLogEpoch, newEpochText } from '../store/changes/log-epoch.ts'
import type { FailPoint } from '../store/engine/db.ts'
import { checkSchema, migrate, STEPS } from '../store/migrate/migrate.ts'
import { missingIndexes, missingIndexText, missingParts, missingText } from '../store/migrate/schema-parts.ts'
import { openDb } from '../store/open/open.ts'
import { acquireServeLock } from '../store/open/serve-lock.ts'
import { registerNames } from './registering.ts'
import { Running, type ServeRole } from './running.ts'

interface ServeOverrides {
  readonly clock?: Clock
  readonly logDestination?: NonNullable<LogOptions['destination']>
  readonly failPoint?: FailPoint
}

export interface ServeOptions {
  readonly role: ServeRole
  /** Writes log lines as text for people instead of JSON. */
  readonly pretty?: boolean
  /** Environment variables for OpenTelemetry. Default: none. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Aborts startup when the process is stopping. */
  readonly signal?: AbortSignal
  readonly overrides?: ServeOverrides
}

export interface Serving {
  /** `http://host:port` of the receiver; null if the role doesn't receive deliveries. */
  readonly receiver: string | null
  /** `http://host:port` of the ops server. */
  readonly ops: string
  readonly log: Log
  /** Rejects when the process must stop because of an error. */
  readonly failed: Promise<never>
  /**
   * Reloads the settings, as after SIGHUP. Never rejects: problems are logged and returned, and the old settings stay.
   */
  reload(): Promise<ReloadResult>
  /** Rejects new deliveries, finishes work in flight within `SHUTDOWN_GRACE`, and closes everything. */
  stop(): Promise<void>
}

const KEEPING =
  'PROTECT=keep: tax ids (FEIN, SSN) are stored in plain text in the database and its backups, and every reader sees them; set PROTECT to drop or encrypt'

/** @returns the location of the database, without the password. */
function locationOf(database: Config['database']): string {
  if (database.kind === 'sqlite') return resolve(database.path)
  const url = URL.parse(splitServers(database.url.reveal())?.[0]?.url ?? '')
  return `schema ${database.schema} of the database ${url?.pathname.slice(1)} on ${url?.host}`
}

function consoleText({ ops: { tokens, oidc, publicUrl } }: Config, origin: string): string {
  if (tokens.length === 0 && oidc === null) return 'the console is disabled; set OPS_TOKENS to enable it'
  // Shows `localhost` instead of `0.0.0.0` or `[::]`, because browsers can't open these addresses.
  return `the console is at ${publicUrl ?? origin.replace(/\/\/(?:0\.0\.0\.0|\[::\])/, '//localhost')}/console/`
}

/**
 * Starts `serve`. The receiver accepts deliveries when the database is ready. Startup doesn't wait for the service.
 * @param load reads and checks the settings, at the start and at each reload.
 * @throws UsageError for invalid settings, from `load`.
 * @throws BusyError if another `serve` uses the SQLite file.
 * @throws FatalError if the database or its schema can't be used.
 * @throws TransientError if the database is unavailable.
 * @throws Node's error if a port is taken.
 * @throws the reason of `options.signal` if the signal aborts startup.
 */
export async function startServing(load: () => Promise<Config>, options: ServeOptions): Promise<Serving> {
  const startedAt = performance.now()
  const { role } = options
  const config = await load()
  const { clock = systemClock, logDestination, failPoint } = options.overrides ?? {}
  const secrets = new KnownSecrets(secretValues(config), config.taxIdFields)
  const log = createLog({
    level: config.log.level,
    pretty: options.pretty ?? false,
    secrets,
    ...(logDestination && { destination: logDestination }),
  })
  for (const warning of config.warnings) log.warn(warning)
  for (const each of config.overridden) log.info(each)
  const closing = new AsyncDisposableStack()
  try {
    const telemetry = await openTelemetry(options.env ?? {}, packageJson.version, { log, clock, secrets })
    closing.defer(() => telemetry?.close())
    const { database } = config
    if (database.kind === 'sqlite') {
      const lock = await acquireServeLock(database)
      closing.defer(() => lock.release())
    }
    const db = await openDb(database, {
      clock,
      log,
      failPoint,
      protection: new Protection(protectionSettings(config)),
      listsDocuments: config.documents.mode !== 'off',
    })
    closing.defer(() => db.close())
    if (config.migrateOnStart) {
      const taken = await migrate(db, undefined, { onWait: (sentence) => log.warn(sentence), signal: options.signal })
      for (const name of taken) log.info({ migration: name }, `migrated the database: ${name}`)
      if (taken.length === STEPS)
        log.info(`created a new, empty mirror in ${locationOf(database)}. If your mirror is elsewhere, stop and correct DATABASE_URL`)
    } else await checkSchema(db)
    if (await isUnfinishedCopy(db.read)) throw new FatalError(UNFINISHED_COPY)
    if (config.protect.mode === 'keep') log.warn(KEEPING)
    // A missing table, column, or view doesn't stop the process. The receiver can store deliveries until an operator
    // repairs the database.
    const missing = await missingParts(db.read)
    if (missing.length > 0) log.error({ missing }, `the database is incomplete: ${missingText(missing)}`)
    for (const statement of await missingIndexes(db.read)) log.error({ statement }, missingIndexText(statement))
    for (const end of await repairEnds(db)) log.warn({ ...end }, `${wrongEndText(end)}; corrected, and the numbering continues`)
    // Must run before changes are applied. Otherwise, a restored database would reuse the `seq` numbers of lost changes
    // in the same log epoch.
    const epoch = await checkLogEpoch(db)
    if (epoch !== null) log.warn({ ...epoch }, newEpochText(epoch))
    // Must run before changes are applied. Otherwise, a new destination would miss the first changes.
    await registerNames(db, config)
    await endLapsedSessions(db, config, log)
    const running = new Running({ config, load, role, clock, log, secrets, db, telemetry, closing })
    await running.start()
    const ms = Math.round(performance.now() - startedAt)
    const { receiver, ops } = running
    log.info({ role, database: database.kind, receiver, ops, version: packageJson.version, ms }, `ready after ${ms} ms`)
    log.info(consoleText(config, ops))
    return { receiver, ops, log, failed: running.failed, reload: () => running.reload(), stop: () => running.stop() }
  } catch (error) {
    await closing.disposeAsync()
    throw error
  }
}
