import { meantOrListed } from '../../base/near-names.ts'
import type { Config, DestinationConfig } from '../../config/config.ts'
import type { Db } from '../../store/engine/db.ts'
import { auditedDb } from '../../store/operators/actions.ts'
import { type DestinationRow, listDestinations, makeLanesDue, setDestinationState } from '../../store/outbox/destinations.ts'
import { resumeAdvice } from '../health/verdict-text.ts'
import { ConflictError, NotFoundError } from '../output/refusals.ts'
import { printableLine } from '../output/text.ts'
import { type ActionContext, untilDone } from './context.ts'

/** Lanes made due in one transaction, which stays short (invariant 13). */
const STEP = 500

/**
 * Stops sending to a destination; its changes are still queued.
 * @param reason null keeps the reason of a destination that is paused already.
 * @returns the destination as it was before.
 * @throws NotFoundError when it was never served; ConflictError when it is parked or disabled, which must not look like a pause that can
 * simply end; BusyError when its state changes at the same time.
 */
export async function pauseDestination(a: ActionContext, name: string, reason: string | null): Promise<DestinationRow> {
  const before = await knownDestination(a.db, name)
  const { state } = before
  if (state === 'parked' || state === 'disabled') {
    const why = before.reason === null ? '' : ` (${printableLine(before.reason)})`
    throw new ConflictError([
      `destination ${name} is ${state}${why}, so nothing is sent to it anyway, and it stays so; ${resumeAdvice(state)}, then \`submission-mirror destination resume ${name}\``,
    ])
  }
  if (state === 'paused' && reason === null) return before
  const said = printableLine(reason ?? `paused by ${a.who === 'command' ? 'an operator' : a.who}`)
  const db = auditedDb(a.db, { who: a.who, action: 'destination.pause', target: name, detail: { reason: said } })
  await setDestinationState(db, name, 'paused', said, state)
  return before
}

/**
 * Resumes a paused, parked or disabled destination, ends its retry pause, and makes what failed before due now.
 * @returns the destination as it was before.
 * @throws NotFoundError when it was never served.
 */
export async function resumeDestination(a: ActionContext, name: string): Promise<DestinationRow> {
  const before = await knownDestination(a.db, name)
  const db = auditedDb(a.db, { who: a.who, action: 'destination.resume', target: name, detail: { was: before.state } })
  await setDestinationState(db, name, 'active', null)
  await untilDone(a, async (after) => ((await makeLanesDue(a.db, name, STEP)) === STEP ? after + STEP : null))
  return before
}

/** A destination that was served. @throws NotFoundError when there is none of that name. */
export async function knownDestination(db: Db, name: string): Promise<DestinationRow> {
  const all = await listDestinations(db.read)
  const found = all.find((each) => each.destination === name)
  if (found) return found
  const names = meantOrListed(
    name,
    all.map((each) => each.destination),
    'none yet',
  )
  throw new NotFoundError([
    `there is no destination ${JSON.stringify(name)} (a configured one is known after the first \`serve\` with it); ${names}`,
  ])
}

/** A configured destination by its name. @throws NotFoundError when the settings have none of that name. */
export function destinationNamed(config: Pick<Config, 'destinations'>, name: string): DestinationConfig {
  const found = config.destinations.find((each) => each.name === name)
  if (found) return found
  const names = meantOrListed(
    name,
    config.destinations.map((each) => each.name),
  )
  throw new NotFoundError([`there is no destination ${JSON.stringify(name)} in the settings; ${names}`])
}
