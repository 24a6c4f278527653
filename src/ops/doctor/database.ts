import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { FatalError, messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import { differenceText } from '../../model/clocks.ts'
import { msFromTime } from '../../model/time.ts'
import { megabytes } from '../../store/backup/backup.ts'
import { findWrongEnds, wrongEndText } from '../../store/changes/log-ends.ts'
import { hasInfo } from '../../store/changes/log-info.ts'
import type { Db } from '../../store/engine/db.ts'
import { checkSchema } from '../../store/migrate/migrate.ts'
import { missingIndexes, missingIndexText, missingParts, missingRights, missingText, rightsText } from '../../store/migrate/schema-parts.ts'
import { openDb } from '../../store/open/open.ts'
import { isServeLockHeld, requireDatabaseFile } from '../../store/open/serve-lock.ts'
import { serverRoles } from '../../store/postgres/server-roles.ts'
import { type DatabaseHealth, probeListening, readDatabaseHealth } from '../../store/upkeep/database-health.ts'
import { changeLogEnds } from '../../store/upkeep/gauges.ts'
import { listProcesses } from '../../store/upkeep/processes.ts'
import { readReplication } from '../../store/upkeep/replication.ts'
import { lastUpkeep } from '../../store/upkeep/upkeep.ts'
import { ClockWatch } from '../clocks/clock-watch.ts'
import { retentionWait, waitText } from '../clocks/retention-wait.ts'
import { ago, pluralize } from '../output/text.ts'
import { replicationNotes } from '../status/replication.ts'
import { bad, type Finding, good } from './finding.ts'

const ABOUT = 'database'
/** Less than this may be full within hours. */
const LEAST_FREE_BYTES = 500e6
/** Retention runs every night: two were missed. */
const LATE_MS = 49 * 3_600_000

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
    return
  }
  yield durabilityOf(health)
  if (config.database.kind === 'postgres') yield* copiesOf(config.database, db)
  yield await roomOf(config, health)
  if (db.kind === 'postgres') yield listeningOf(await probeListening(db))
  yield await clocksOf(db)
  yield await retentionOf(db, serving > 0)
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
  for (const { ok, text } of replication === null ? [] : replicationNotes(replication)) yield ok ? good(ABOUT, text) : bad(ABOUT, text)
  const servers = await serverRoles(url)
  if (servers.length === 1) return
  const primaries = servers.filter(({ role }) => role === 'primary')
  const all = servers.map(({ name, role, problem }) => `${name} is ${role}${problem === null ? '' : ` (${problem})`}`).join(', ')
  if (primaries.length > 1)
    yield bad(
      ABOUT,
      `${primaries.length} servers of DATABASE_URL take writes, so that their data goes apart: ${all}; stop the one that is not the primary`,
    )
  else if (servers.some(({ role }) => role === 'unreachable'))
    yield bad(ABOUT, `a server of DATABASE_URL cannot be reached: ${all}; start it, or take it out`)
  else yield good(ABOUT, `${all}`)
}

async function roomOf({ database }: Config, { sizeBytes }: DatabaseHealth): Promise<Finding> {
  const size = `it takes ${megabytes(sizeBytes)}`
  if (database.kind === 'postgres') {
    return good(ABOUT, `${size}; the free space of the server cannot be seen from here; have the server watched`)
  }
  const folder = dirname(resolve(database.path))
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  if (free < LEAST_FREE_BYTES) {
    return bad(ABOUT, `${size}, and ${folder} has ${megabytes(free)} left, and when it is full deliveries are answered 503; make room`)
  }
  return good(ABOUT, `${size}, and ${folder} has ${megabytes(free)} left${free < sizeBytes ? ', too little for a backup beside it' : ''}`)
}

function listeningOf(heard: Awaited<ReturnType<typeof probeListening>>): Finding {
  if (heard === 'hears') return good(ABOUT, 'processes wake each other: LISTEN and NOTIFY work')
  const why =
    heard === 'deaf' ? 'notifications do not arrive, as behind a pooler in transaction mode' : 'no connection for LISTEN could be opened'
  return bad(ABOUT, `${why}; everything works, up to a second later. Set DATABASE_LISTEN_URL to the server itself`)
}

/** The clock of this machine against the database server's and what was recorded; each account's service is compared with its account. */
async function clocksOf(db: Db): Promise<Finding> {
  const { apart } = await new ClockWatch({ db, clock: db.clock, clients: new Map() }).judge()
  if (apart.length === 0) return good('clocks', "this machine's clock agrees with the database and with what was recorded last")
  return bad(
    'clocks',
    `${apart.map(differenceText).join(', ')}; set the wrong one by NTP. While they are an hour apart nothing is removed or dropped for its age`,
  )
}

async function retentionOf(db: Db, serving: boolean): Promise<Finding> {
  const about = 'retention'
  const wait = await retentionWait(db.read)
  if (wait !== null) return bad(about, waitText(wait.reason))
  const last = await lastUpkeep(db.read, 'retention')
  if (last === null || last.began_at === null) return good(about, 'it has not run yet; it runs every night while `serve` does')
  const now = db.clock.now()
  const since = last.ended_at ?? last.began_at
  if (serving && now - msFromTime(since) > LATE_MS) {
    return bad(about, `it has not ended for ${ago(since, now)}, so the database grows; the log of \`serve\` tells why (\`retention\`)`)
  }
  return good(
    about,
    last.ended_at === null ? 'it is running, or was interrupted and will continue' : `${ago(since, now)} ago: ${last.note ?? ''}`,
  )
}
