import type { DestinationConfig } from '../../config/config.ts'
import { msFromTime } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import { changeLogEnds } from '../../store/upkeep/gauges.ts'
import { listProcesses } from '../../store/upkeep/processes.ts'
import { probeDestination } from '../actions/probe.ts'
import { resumeHint } from '../alarms/resume-hint.ts'
import { outageText } from '../health/verdict.ts'
import { ago, pluralize, shortTime } from '../output/text.ts'
import { type DestinationStatus, readPushStatus } from '../status/destinations.ts'
import { bad, type DoctorParts, type Finding, good, NO_DATABASE, skipped, unchecked } from './finding.ts'

/** A healthy destination gets its changes sooner. */
const LATE_MS = 15 * 60_000

/** Checks one destination: one harmless attempt, then what waits for it. */
export async function* checkDestination(p: DoctorParts, destination: DestinationConfig): AsyncGenerator<Finding> {
  const about = `destination ${destination.name}`
  const { ok, text } = await probeDestination(p, p.config, destination)
  yield ok === null ? unchecked(about, text) : ok ? good(about, text) : bad(about, text)
  const { db } = p
  if (db === null) {
    yield unchecked(about, `what waits for it: ${NO_DATABASE}`)
    return
  }
  const status = (await readPushStatus(db.read, p.config.destinations)).find((each) => each.destination === destination.name)
  if (!status || status.state === null) {
    yield skipped(about, 'what waits for it: pushing begins when `serve` starts with these settings')
    return
  }
  const warnings = pushWarnings(status).map((warning) => warning.replace(`${about} `, ''))
  const late = await lateness(db, p.clock.now(), status)
  if (late !== null) warnings.push(late)
  for (const warning of warnings) yield bad(about, warning)
  if (warnings.length > 0) return
  const { lastSeq } = await changeLogEnds(db.read)
  const behind = lastSeq - (status.cursor ?? 0)
  const waiting = status.queued === 0 ? 'nothing waits for it' : `${pluralize(status.queued, 'change')} on the way`
  const rest = status.retry_at === null ? '' : `; as it asked, it rests until ${shortTime(status.retry_at)} UTC`
  yield good(about, `it is active and ${waiting}${behind > 0 ? `; ${pluralize(behind, 'change')} not queued yet` : ''}${rest}`)
}

/** Why changes wait too long, and what to do; null when they do not. */
async function lateness(db: Db, now: number, status: DestinationStatus): Promise<string | null> {
  const { lastSeq } = await changeLogEnds(db.read)
  const waits = status.queued > 0 || (status.cursor ?? 0) < lastSeq
  const running = (await listProcesses(db.read)).some(({ role }) => role === 'all' || role === 'work')
  if (waits && !running) return 'changes wait for it, and no `serve` is running; start it'
  if (status.state !== 'active') return null
  const { oldest_queued_at: oldest, destination } = status
  const outage = waits ? outageText(status) : null
  if (outage !== null) return `${outage}: \`submission-mirror destination resume ${destination}\``
  if (oldest === null || now - msFromTime(oldest) < LATE_MS) return null
  const blocked = status.unmapped_lanes + status.held_lanes > 0
  if (blocked) return null
  const list = `\`submission-mirror outbox list --destination ${destination} --state ready\``
  return `${pluralize(status.queued, 'change')} wait, the oldest for ${ago(oldest, now)}; ${list} tells why`
}

/** What needs an operator, and what to do, a sentence each. */
function pushWarnings(d: DestinationStatus): string[] {
  const name = `destination ${d.destination}`
  const list = (state: string) => `\`submission-mirror outbox list --destination ${d.destination} --state ${state}\``
  const warnings: string[] = []
  if (d.state !== null && d.state !== 'active')
    warnings.push(`${name} is ${d.state}: ${d.reason ?? 'no reason is kept'}; ${resumeHint(d.destination, d.state)}`)
  if (d.dead > 0) warnings.push(`${name} has ${pluralize(d.dead, 'dead letter')}; see ${list('dead')}, then retry or skip them`)
  if (d.unknown > 0) {
    warnings.push(
      `${name} has ${pluralize(d.unknown, 'change')} that may have arrived or not; look in the AMS for each of ${list('unknown')}; then skip it, or retry it if it is not there`,
    )
  }
  if (d.unmapped_lanes > 0) {
    warnings.push(
      `${name} has ${pluralize(d.unmapped_lanes, 'submission')} without a client of the AMS; map them with \`submission-mirror destination map\``,
    )
  }
  if (d.held_lanes > 0)
    warnings.push(
      `${name} has ${pluralize(d.held_lanes, 'submission')} waiting behind a dead letter or an unknown outcome; retry or skip it`,
    )
  return warnings
}
