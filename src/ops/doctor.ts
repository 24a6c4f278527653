import type { Clock } from '../clock.ts'
import type { Config, DestinationConfig } from '../config.ts'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import { silentObserver } from '../observe.ts'
import { findAccount } from '../store/accounts.ts'
import type { Db } from '../store/db.ts'
import { changeLogEnds } from '../store/gauges.ts'
import { listProcesses } from '../store/processes.ts'
import { upstreamClass } from '../upstream/errors.ts'
import { probeDestination } from './probe.ts'
import { type DestinationStatus, pushWarnings, readPushStatus } from './push-status.ts'
import { ago, counted, printableLine } from './text.ts'
import { clientOf } from './upstream.ts'

/** One thing that was looked at, in a sentence: what is right, or what is wrong and what to do. */
export interface Finding {
  readonly about: string
  readonly ok: boolean
  readonly text: string
}

export interface DoctorParts {
  readonly config: Config
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly host: { readonly signal: AbortSignal }
}

/** Changes that a healthy destination has not got by then are worth a word. */
const LATE_MS = 15 * 60_000
const ACCOUNT_MS = 60_000

/** Looks at everything: the database, each account's credentials, each destination. The settings were read already, or it would not run. */
export async function* examine(p: DoctorParts): AsyncGenerator<Finding> {
  const { accounts, destinations } = p.config
  yield good('settings', `${counted(accounts.length, 'account')} and ${counted(destinations.length, 'destination')}`)
  yield await examineDatabase(p)
  for (const { name } of accounts) yield await examineAccount(p, name)
  for (const destination of destinations) yield* examineDestination(p, destination)
}

/** Looks at one destination: one harmless try, then what waits for it. */
export async function* examineDestination(p: DoctorParts, destination: DestinationConfig): AsyncGenerator<Finding> {
  const about = `destination ${destination.name}`
  const { ok, text } = await probeDestination(p, p.config, destination)
  yield { about, ok, text }
  const status = (await readPushStatus(p.db.read, p.config.destinations)).find((each) => each.destination === destination.name)
  if (!status || status.state === null) {
    yield good(about, 'nothing was queued for it yet: it begins when `serve` starts with these settings')
    return
  }
  const warnings = pushWarnings(status).map((warning) => warning.replace(`${about} `, ''))
  const late = await lateness(p, status)
  if (late !== null) warnings.push(late)
  for (const warning of warnings) yield { about, ok: false, text: printableLine(warning, 500) }
  if (warnings.length > 0) return
  const { lastSeq } = await changeLogEnds(p.db.read)
  const behind = lastSeq - (status.cursor ?? 0)
  const waiting = status.queued === 0 ? 'nothing waits for it' : `${counted(status.queued, 'change')} on the way`
  yield good(about, `it is active and ${waiting}${behind > 0 ? `; ${counted(behind, 'change')} not queued yet` : ''}`)
}

/** What is wrong with how long changes wait; null when nothing is. */
async function lateness(p: DoctorParts, status: DestinationStatus): Promise<string | null> {
  const now = p.clock.now()
  const { lastSeq } = await changeLogEnds(p.db.read)
  const waits = status.queued > 0 || (status.cursor ?? 0) < lastSeq
  const running = (await listProcesses(p.db.read)).some(({ role }) => role === 'all' || role === 'work')
  if (waits && !running) return 'changes wait for it and no `serve` is running; start it'
  if (status.state !== 'active') return null
  const { oldest_queued_at: oldest, retry_at: retryAt, destination } = status
  if (retryAt !== null && Date.parse(retryAt) > now) {
    return `it rests until ${retryAt.slice(0, 19)}Z, because it asked for that or did not answer; \`submission-mirror destination resume ${destination}\` tries now`
  }
  if (oldest === null || now - Date.parse(oldest) < LATE_MS) return null
  const blocked = status.unmapped_lanes + status.held_lanes > 0
  if (blocked) return null
  const list = `\`submission-mirror outbox list --destination ${destination} --state ready\``
  return `${counted(status.queued, 'change')} wait, the oldest for ${ago(oldest, now)}; ${list} tells why`
}

async function examineDatabase({ config, db }: DoctorParts): Promise<Finding> {
  const { lastSeq } = await changeLogEnds(db.read)
  const processes = await listProcesses(db.read)
  const serving = processes.filter(({ role }) => role !== 'sync').length
  const running = serving === 0 ? 'no `serve` is running' : `${counted(serving, '`serve` process', '`serve` processes')} running`
  return good('database', `${config.database.kind}, tables up to date, ${counted(lastSeq, 'change')} logged, ${running}`)
}

async function examineAccount({ config, db, clock, host }: DoctorParts, name: string): Promise<Finding> {
  const about = `account ${name}`
  const client = clientOf(config, name, clock, silentObserver)
  try {
    const identity = await client.me(AbortSignal.any([host.signal, AbortSignal.timeout(ACCOUNT_MS)]))
    const row = await findAccount(db.read, name)
    const pinned = row?.brokerage ?? null
    if (pinned !== null && pinned !== identity.brokerage) {
      return bad(
        about,
        `the credentials belong to brokerage ${identity.brokerage}, but it holds the data of ${pinned}; give them an account of their own`,
      )
    }
    if (row && row.state !== 'active') {
      return bad(
        about,
        `the credentials are good, but it is ${row.state}: ${row.reason ?? 'no reason is kept'}; \`submission-mirror account resume ${name}\``,
      )
    }
    return good(about, `the service takes its credentials, brokerage ${identity.brokerage}`)
  } catch (error) {
    const what = messageOf(error)
    const mend =
      upstreamClass(error) === 'auth' ? 'compare id, secret and scope with the portal' : 'see whether the base URL can be reached from here'
    return bad(about, `the service could not be asked whose credentials these are (${what}); ${mend}`)
  } finally {
    await client.close()
  }
}

function good(about: string, text: string): Finding {
  return { about, ok: true, text: printableLine(text, 500) }
}

function bad(about: string, text: string): Finding {
  return { about, ok: false, text: printableLine(text, 500) }
}
