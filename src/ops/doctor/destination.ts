import { limitedTo } from '../../base/abortable.ts'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { type Config, type DestinationConfig, proxySettings } from '../../config/config.ts'
import { secretValues } from '../../config/secret-values.ts'
import { msFromTime } from '../../model/time.ts'
import type { DeliveryKind, ProbeResult } from '../../push/contract/delivery.ts'
import type { OpenDocument } from '../../push/contract/documents.ts'
import type { Db } from '../../store/engine/db.ts'
import { listProcesses } from '../../store/upkeep/processes.ts'
import { filterFailed, PUSH_LATE_MS, pushLateText } from '../alarms/watch-destinations.ts'
import type { Problem } from '../health/problem.ts'
import { nextAttemptText, pluralize, printableLine, shortTime } from '../output/text.ts'
import { type DestinationStatus, readPushStatus } from '../status/destinations.ts'
import { bad, type DoctorParts, type Finding, good, NO_DATABASE, skipped, unchecked } from './finding.ts'
import { checkProblems } from './problems.ts'

/** Tests a destination with a harmless attempt, then checks its queue. */
export async function* checkDestination(p: DoctorParts, destination: DestinationConfig): AsyncGenerator<Finding> {
  const about = `destination ${destination.name}`
  const { ok, text } = await probeDestination(p, p.config, destination)
  yield ok === null ? unchecked(about, text) : ok ? good(about, text) : bad(about, text)
  const { db } = p
  if (db === null) {
    yield unchecked(about, `queue: ${NO_DATABASE}`)
    return
  }
  const status = (await readPushStatus(db.read, p.config)).find((each) => each.destination === destination.name)
  if (!status || status.state === null) {
    yield skipped(about, 'queue not checked: no running `serve` has this destination. Reload or restart `serve`.', '')
    return
  }
  // If the test succeeded, the reason of the suspension is outdated.
  const isFixed = ok === true && status.state === 'suspended'
  const isAbout = (each: Problem) => each.destination === destination.name && !(isFixed && each.name === 'destination_stopped')
  const wrong = await checkProblems(p, about, isAbout)
  if (isFixed) wrong.push(bad(about, stillSuspended(status, p.clock.now())))
  wrong.push(...filterFailed(status).map((each) => bad(about, each.text)))
  const late = await lateness(db, p.clock.now(), status, wrong.length > 0)
  if (late !== null) wrong.push(bad(about, late))
  yield* wrong
  if (wrong.length > 0) return
  const behind = status.behind ?? 0
  const waiting = status.queued === 0 ? 'nothing is queued' : `${pluralize(status.queued, 'change')} queued`
  const rest = status.retry_at === null ? '' : `; throttled until ${shortTime(status.retry_at)} UTC`
  yield good(about, `active, ${waiting}${behind > 0 ? `; ${pluralize(behind, 'change')} not queued yet` : ''}${rest}`)
}

function stillSuspended({ destination, reason, retry_at: retryAt }: DestinationStatus, nowMs: number): string {
  const next = retryAt === null ? '' : `; ${nextAttemptText(retryAt, nowMs)}`
  return `is still suspended because of an earlier answer (${reason ?? 'unknown'})${next}; to retry now, run \`submission-mirror destination resume ${destination}\``
}

/**
 * Reports waiting changes in two cases:
 * - No `serve` runs.
 * - Changes wait too long, and `hasProblems` is false.
 * @param hasProblems true if other reported problems may explain why changes wait.
 * @returns why changes wait; null in all other cases.
 */
async function lateness(db: Db, now: number, status: DestinationStatus, hasProblems: boolean): Promise<string | null> {
  const { oldest_queued_at: oldest, destination, queued, behind } = status
  const running = (await listProcesses(db.read)).some(({ role }) => role === 'all' || role === 'work')
  if (queued + (behind ?? 0) > 0 && !running) return 'changes are waiting, but no `serve` is running; start it'
  if (hasProblems || oldest === null || now - msFromTime(oldest) < PUSH_LATE_MS) return null
  const list = `\`submission-mirror outbox list --destination ${destination} --state ready\``
  return `${pushLateText(destination, oldest, now)}; ${list} shows why`
}

/** Time limit of a probe, as a multiple of the destination's timeout. A probe may need several requests. */
const PROBE_FACTOR = 3

/** Tests a destination with one harmless attempt. @returns the outcome in one printable sentence. */
export async function probeDestination(
  { clock, host, log }: { readonly clock: Clock; readonly host: { readonly signal: AbortSignal }; readonly log: Log },
  config: Config,
  destination: DestinationConfig,
): Promise<ProbeResult> {
  const signal = limitedTo(destination.timeoutMs * PROBE_FACTOR, host.signal)
  try {
    const { ok, text } = await withKind({ clock, log }, config, destination, (kind) => kind.probe(signal))
    return { ok, text: printableLine(text, 500) }
  } catch (error) {
    return { ok: false, text: printableLine(messageOf(error), 500) }
  }
}

/**
 * Opens the kind of a destination (see `push/kinds/`), calls `use`, and closes the kind.
 * Imports the code of the kinds only here, because most commands don't need that code.
 */
export async function withKind<T>(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  config: Config,
  destination: DestinationConfig,
  use: (kind: DeliveryKind) => Promise<T>,
  openDocument?: OpenDocument,
): Promise<T> {
  const [{ createKind }, { redacting }] = await Promise.all([import('../../push/kinds/create.ts'), import('../../push/kinds/redacting.ts')])
  const context = { clock, log, proxy: proxySettings(config), ...(openDocument && { openDocument }) }
  const kind = redacting(createKind(destination, context), secretValues(config))
  try {
    return await use(kind)
  } finally {
    await kind.close()
  }
}
