import { existsSync } from 'node:fs'
import { mkdtemp, rmdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { FatalError, messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import { megabytes } from '../../store/backup/backup.ts'
import { firstEpochOf } from '../../store/changes/log-divergence.ts'
import { findWrongEnds, wrongEndText } from '../../store/changes/log-ends.ts'
import { hasInfo, logEnds } from '../../store/changes/log-info.ts'
import type { Db } from '../../store/engine/db.ts'
import { checkSchema } from '../../store/migrate/migrate.ts'
import { missingIndexes, missingIndexText, missingParts, missingRights, missingText, rightsText } from '../../store/migrate/schema-parts.ts'
import { openDb } from '../../store/open/open.ts'
import { isServeLockHeld, requireDatabaseFile } from '../../store/open/serve-lock.ts'
import { serverRoles, severalPrimaries } from '../../store/postgres/server-roles.ts'
import { type DatabaseHealth, probeListening, readDatabaseHealth } from '../../store/upkeep/database-health.ts'
import { countServing } from '../../store/upkeep/processes.ts'
import { readReplication } from '../../store/upkeep/replication.ts'
import { lastUpkeep } from '../../store/upkeep/upkeep.ts'
import { diskNearlyFull, diskSpace } from '../alarms/watch-disk.ts'
import { retentionProblems } from '../alarms/watch-upkeep.ts'
import { foreignCopies } from '../backup/copies.ts'
import { ago, pluralize } from '../output/text.ts'
import { replicationNotes } from '../status/replication.ts'
import { bad, type Finding, good, skipped, unchecked } from './finding.ts'

const ABOUT = 'database'

/** @returns the open database, or, if the database can't be used, a finding with the reason. */
export async function openForDoctor(config: Config, { clock, log }: { readonly clock: Clock; readonly log: Log }): Promise<Db | Finding> {
  const { database } = config
  try {
    requireDatabaseFile(database)
  } catch (error) {
    return bad(ABOUT, messageOf(error))
  }
  if (database.kind === 'sqlite' && !existsSync(database.path)) {
    return bad(ABOUT, `there is no database at ${resolve(database.path)}; set DATABASE_URL, or create it with \`submission-mirror serve\``)
  }
  let db: Db | undefined
  try {
    db = await openDb(database, { clock, log })
    await checkSchema(db)
    return db
  } catch (error) {
    await db?.close()
    // The messages of FatalErrors and Postgres errors already say what to do.
    const advice =
      error instanceof FatalError || database.kind === 'postgres' ? '' : '; check the disk, and which programs use the database'
    return bad(ABOUT, `${messageOf(error)}${advice}`)
  }
}

export async function* checkDatabase(config: Config, db: Db): AsyncGenerator<Finding> {
  const missing = await missingParts(db.read)
  if (missing.length > 0) yield bad(ABOUT, missingText(missing))
  for (const statement of await missingIndexes(db.read)) yield bad(ABOUT, missingIndexText(statement))
  const rights = await missingRights(db.read)
  if (rights.length > 0) yield bad(ABOUT, rightsText(rights))
  if (!(await hasInfo(db.read))) {
    yield bad(ABOUT, 'the row of mirror_info was deleted; the next start of `serve` creates it again, with a new log epoch')
    yield unchecked(ABOUT, 'durability, free space and retention: the row of mirror_info is missing')
    return
  }
  const { last_seq } = await logEnds(db.read)
  const serving = await countServing(db.read)
  const tables = missing.length === 0 ? 'tables up to date, ' : ''
  yield good(ABOUT, `${config.database.kind}, ${tables}${pluralize(last_seq, 'change')} logged, ${runningText(config, serving)}`)
  for (const end of await findWrongEnds(db.read)) {
    yield bad(ABOUT, `${wrongEndText(end)}; \`submission-mirror reconcile\` or the next start of \`serve\` corrects it`)
  }
  let health: DatabaseHealth
  try {
    health = await readDatabaseHealth(db)
  } catch (error) {
    yield bad(ABOUT, `the database cannot be written (${messageOf(error)}), so deliveries are answered 503`)
    yield unchecked(ABOUT, 'durability, free space and retention: the database cannot be written')
    return
  }
  yield durabilityFinding(health)
  if (config.database.kind === 'postgres') yield* checkServers(config.database, db)
  yield* checkSpace(config, health)
  yield* checkBackups(config, db)
  if (db.kind === 'postgres') yield listeningFinding(await probeListening(db))
  yield* checkRetention(db)
}

/**
 * @returns a text with the number of running `serve` processes.
 * On SQLite, also checks the lock that `serve` and `restore` hold, because a full disk prevents heartbeats.
 */
function runningText({ database }: Config, serving: number): string {
  if (serving > 0) return `${pluralize(serving, '`serve` process', '`serve` processes')} running`
  if (database.kind === 'postgres' || !isServeLockHeld(database)) return 'no `serve` is running'
  return '`serve` or `restore` is running, but could not update the database recently'
}

function durabilityFinding({ server, durability }: DatabaseHealth): Finding {
  const wrong = durability.filter(({ ok }) => !ok)
  const values = durability.map(({ name, value }) => `${name} ${value}`).join(', ')
  if (wrong.length === 0) return good(ABOUT, `${server} commits durably: ${values}`)
  const names = wrong.map(({ name }) => name).join(' and ')
  return bad(ABOUT, `acknowledged deliveries can be lost in a power cut: ${values}; turn on ${names} (${server})`)
}

/** Reports whether acknowledged deliveries are replicated, and which server is the primary. */
async function* checkServers({ url }: Extract<Config['database'], { kind: 'postgres' }>, db: Db): AsyncGenerator<Finding> {
  const replication = await readReplication(db.read)
  for (const { ok, text } of replication === null ? [] : replicationNotes(replication))
    yield ok === null ? skipped(ABOUT, text) : ok ? good(ABOUT, text) : bad(ABOUT, text)
  const servers = await serverRoles(url)
  if (servers.length === 1) return
  const primaries = servers.filter(({ role }) => role === 'primary')
  const all = servers.map(({ name, role, problem }) => `${name} is ${role}${problem === null ? '' : ` (${problem})`}`).join(', ')
  if (primaries.length > 1) yield bad(ABOUT, severalPrimaries(primaries))
  else if (servers.some(({ role }) => role === 'unreachable'))
    yield bad(ABOUT, `a server of DATABASE_URL cannot be reached: ${all}; start it, or remove it from DATABASE_URL`)
  else yield good(ABOUT, `${all}`)
}

async function* checkSpace({ database }: Config, { sizeBytes }: DatabaseHealth): AsyncGenerator<Finding> {
  const size = `it uses ${megabytes(sizeBytes)}`
  if (database.kind === 'postgres') {
    yield good(ABOUT, size)
    yield skipped(ABOUT, 'free space of the server, which is not visible from here; monitor the server')
    return
  }
  const folder = dirname(resolve(database.path))
  const space = await diskSpace(folder)
  const room = diskNearlyFull(folder, space)
  if (room.level === 'on') yield bad(ABOUT, room.text)
  const { freeBytes } = space
  yield good(
    ABOUT,
    room.level === 'on'
      ? size
      : `${size}, and ${folder} has ${megabytes(freeBytes)} left${freeBytes < sizeBytes ? ', too little for a backup next to it' : ''}`,
  )
}

/** Checks that scheduled backups can be written, and that their folder belongs to this mirror. */
async function* checkBackups({ backup, database }: Config, db: Db): AsyncGenerator<Finding> {
  if (backup.cron === null || database.kind === 'postgres') return
  const folder = resolve(backup.dir)
  // A backup creates missing folders, so test the nearest folder above that exists.
  let at = folder
  while (!existsSync(at)) at = dirname(at)
  try {
    await rmdir(await mkdtemp(join(at, '.submission-mirror-')))
    const foreign = await foreignCopies(folder, await firstEpochOf(db.read))
    yield foreign === null ? good('backups', `${folder} can be written to`) : bad('backups', foreign)
  } catch (error) {
    yield bad(
      'backups',
      `${folder} cannot be written to (${messageOf(error)}); make the folder writable for this user, or set BACKUP_DIR to another folder`,
    )
  }
}

function listeningFinding(heard: Awaited<ReturnType<typeof probeListening>>): Finding {
  if (heard === 'hears') return good(ABOUT, 'processes notify each other: LISTEN and NOTIFY work')
  const why =
    heard === 'deaf'
      ? 'notifications do not arrive, maybe because of a pooler in transaction mode'
      : 'a connection for LISTEN could not be opened'
  return bad(ABOUT, `${why}; everything works, but with a delay of up to a second. Set DATABASE_LISTEN_URL to the server itself`)
}

async function* checkRetention(db: Db): AsyncGenerator<Finding> {
  const about = 'retention'
  const wrong = await retentionProblems(db.read, db.clock.now())
  for (const { text } of wrong) yield bad(about, text)
  if (wrong.length > 0) return
  const last = await lastUpkeep(db.read, 'retention')
  if (last === null || last.began_at === null) yield skipped(about, 'it has not run yet; `serve` runs it every night')
  else if (last.ended_at === null) yield good(about, 'it is running, or was interrupted and will continue')
  else yield good(about, `the last run finished ${ago(last.ended_at, db.clock.now())} ago${last.note === null ? '' : ` and ${last.note}`}`)
}
