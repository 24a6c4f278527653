import { existsSync } from 'node:fs'
import { mkdtemp, rmdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { FatalError, messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import { megabytes } from '../../store/backup/backup.ts'
import { firstEpochOf } from '../../store/changes/log-branch.ts'
import { findWrongEnds, wrongEndText } from '../../store/changes/log-ends.ts'
import { hasInfo } from '../../store/changes/log-info.ts'
import type { Db } from '../../store/engine/db.ts'
import { checkSchema } from '../../store/migrate/migrate.ts'
import { missingIndexes, missingIndexText, missingParts, missingRights, missingText, rightsText } from '../../store/migrate/schema-parts.ts'
import { openDb } from '../../store/open/open.ts'
import { isServeLockHeld, requireDatabaseFile } from '../../store/open/serve-lock.ts'
import { serverRoles, severalPrimaries } from '../../store/postgres/server-roles.ts'
import { type DatabaseHealth, probeListening, readDatabaseHealth } from '../../store/upkeep/database-health.ts'
import { changeLogEnds } from '../../store/upkeep/gauges.ts'
import { listProcesses } from '../../store/upkeep/processes.ts'
import { readReplication } from '../../store/upkeep/replication.ts'
import { lastUpkeep } from '../../store/upkeep/upkeep.ts'
import { retentionConditions } from '../alarms/watch-clocks.ts'
import { diskNearlyFull, diskSpace } from '../alarms/watch-disk.ts'
import { foreignCopies } from '../backup/copies.ts'
import { ago, pluralize } from '../output/text.ts'
import { replicationNotes } from '../status/replication.ts'
import { bad, badCondition, type Finding, good, skipped, unchecked } from './finding.ts'

const ABOUT = 'database'

/** @returns the open database, or the finding that tells why it cannot be used. */
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
    // The message of a FatalError, and every message about a server, says what to do.
    const advice = error instanceof FatalError || database.kind === 'postgres' ? '' : '; check which program has it open, and the disk'
    return bad(ABOUT, `${messageOf(error)}${advice}`)
  }
}

/** Checks the database: tables, durability, space, notifications, retention. */
export async function* checkDatabase(config: Config, db: Db): AsyncGenerator<Finding> {
  const missing = await missingParts(db.read)
  if (missing.length > 0) yield bad(ABOUT, missingText(missing))
  for (const statement of await missingIndexes(db.read)) yield bad(ABOUT, missingIndexText(statement))
  const rights = await missingRights(db.read)
  if (rights.length > 0) yield bad(ABOUT, rightsText(rights))
  if (!(await hasInfo(db.read))) {
    yield bad(ABOUT, 'the row of mirror_info was deleted; the next start of `serve` creates it again, with a new log epoch')
    yield unchecked(ABOUT, 'whether it is durable and has room, and when retention ran: the row of mirror_info is missing')
    return
  }
  const { lastSeq } = await changeLogEnds(db.read)
  const serving = (await listProcesses(db.read)).filter(({ role }) => role !== 'sync' && role !== 'reconcile').length
  const tables = missing.length === 0 ? 'tables up to date, ' : ''
  yield good(ABOUT, `${config.database.kind}, ${tables}${pluralize(lastSeq, 'change')} logged, ${runningText(config, serving)}`)
  for (const end of await findWrongEnds(db.read)) {
    yield bad(ABOUT, `${wrongEndText(end)}; \`submission-mirror reconcile\` corrects it, as the next start of \`serve\` does`)
  }
  let health: DatabaseHealth
  try {
    health = await readDatabaseHealth(db)
  } catch (error) {
    yield bad(ABOUT, `nothing can be written now (${messageOf(error)}); deliveries are answered 503 until it can`)
    yield unchecked(ABOUT, 'whether it is durable and has room, and when retention ran: nothing can be written')
    return
  }
  yield durabilityOf(health)
  if (config.database.kind === 'postgres') yield* copiesOf(config.database, db)
  yield* roomOf(config, health)
  yield* backupsOf(config, db)
  if (db.kind === 'postgres') yield listeningOf(await probeListening(db))
  yield* retentionOf(db)
}

/** On SQLite the lock shows a process that cannot update its heartbeat in the database, as on a full disk. */
function runningText({ database }: Config, serving: number): string {
  if (serving > 0) return `${pluralize(serving, '`serve` process', '`serve` processes')} running`
  if (database.kind === 'postgres' || !isServeLockHeld(database)) return 'no `serve` is running'
  return '`serve` or `restore` is running, and could not say so in the database lately'
}

function durabilityOf({ server, durability }: DatabaseHealth): Finding {
  const wrong = durability.filter(({ ok }) => !ok)
  const values = durability.map(({ name, value }) => `${name} ${value}`).join(', ')
  if (wrong.length === 0) return good(ABOUT, `${server} commits durably: ${values}`)
  const names = wrong.map(({ name }) => name).join(' and ')
  return bad(ABOUT, `acknowledged deliveries can be lost in a power cut: ${values}; switch ${names} on (${server})`)
}

/** On how many servers what was acknowledged lies, and which of several servers is the primary. */
async function* copiesOf({ url }: Extract<Config['database'], { kind: 'postgres' }>, db: Db): AsyncGenerator<Finding> {
  const replication = await readReplication(db.read)
  for (const { ok, text } of replication === null ? [] : replicationNotes(replication))
    yield ok === null ? skipped(ABOUT, text) : ok ? good(ABOUT, text) : bad(ABOUT, text)
  const servers = await serverRoles(url)
  if (servers.length === 1) return
  const primaries = servers.filter(({ role }) => role === 'primary')
  const all = servers.map(({ name, role, problem }) => `${name} is ${role}${problem === null ? '' : ` (${problem})`}`).join(', ')
  if (primaries.length > 1) yield bad(ABOUT, severalPrimaries(primaries))
  else if (servers.some(({ role }) => role === 'unreachable'))
    yield bad(ABOUT, `a server of DATABASE_URL cannot be reached: ${all}; start it, or take it out`)
  else yield good(ABOUT, `${all}`)
}

async function* roomOf({ database }: Config, { sizeBytes }: DatabaseHealth): AsyncGenerator<Finding> {
  const size = `it takes ${megabytes(sizeBytes)}`
  if (database.kind === 'postgres') {
    yield good(ABOUT, size)
    yield skipped(ABOUT, 'the free space of the server, which cannot be seen from here; have the server watched')
    return
  }
  const folder = dirname(resolve(database.path))
  const space = await diskSpace(folder)
  const room = diskNearlyFull(folder, space)
  if (room.level === 'on') yield badCondition(ABOUT, room)
  const { freeBytes } = space
  yield good(
    ABOUT,
    room.level === 'on'
      ? size
      : `${size}, and ${folder} has ${megabytes(freeBytes)} left${freeBytes < sizeBytes ? ', too little for a backup beside it' : ''}`,
  )
}

/** Whether a backup by the timetable can be written, where there is one, beside no other mirror's. */
async function* backupsOf({ backup, database }: Config, db: Db): AsyncGenerator<Finding> {
  if (backup.cron === null || database.kind === 'postgres') return
  const folder = resolve(backup.dir)
  // A backup creates it where it is missing.
  let at = folder
  while (!existsSync(at)) at = dirname(at)
  try {
    await rmdir(await mkdtemp(join(at, '.submission-mirror-')))
    const foreign = await foreignCopies(folder, await firstEpochOf(db.read))
    yield foreign === null ? good('backups', `${folder} can be written to`) : bad('backups', foreign)
  } catch (error) {
    yield bad(
      'backups',
      `${folder} cannot be written to (${messageOf(error)}): give the folder to this user, or set BACKUP_DIR to another place`,
    )
  }
}

function listeningOf(heard: Awaited<ReturnType<typeof probeListening>>): Finding {
  if (heard === 'hears') return good(ABOUT, 'processes wake each other: LISTEN and NOTIFY work')
  const why =
    heard === 'deaf' ? 'notifications do not arrive, as behind a pooler in transaction mode' : 'no connection for LISTEN could be opened'
  return bad(ABOUT, `${why}; everything works, up to a second later. Set DATABASE_LISTEN_URL to the server itself`)
}

async function* retentionOf(db: Db): AsyncGenerator<Finding> {
  const about = 'retention'
  const wrong = (await retentionConditions(db.read, db.clock.now())).filter(({ level }) => level === 'on')
  for (const found of wrong) yield badCondition(about, found)
  if (wrong.length > 0) return
  const last = await lastUpkeep(db.read, 'retention')
  if (last === null || last.began_at === null) yield skipped(about, 'it has not run yet; it runs every night while `serve` does')
  else if (last.ended_at === null) yield good(about, 'it is running, or was interrupted and will continue')
  else yield good(about, `${ago(last.ended_at, db.clock.now())} ago: ${last.note ?? ''}`)
}
