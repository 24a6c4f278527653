import { z } from 'zod'
import { auditedDb } from '../../store/operators/actions.ts'
import { type DestinationRow, setDestinationState } from '../../store/outbox/destinations.ts'
import { makeStreamsDue } from '../../store/outbox/retry.ts'
import { type ActionContext, untilDone } from '../actions/context.ts'
import { destinationNamed, knownDestination } from '../actions/names.ts'
import { probeDestination } from '../doctor/destination.ts'
import { record } from '../output/schema.ts'
import { percent, printableLine, when } from '../output/text.ts'
import { presenceText } from '../output/words.ts'
import { destinationStatus, readPushStatus, destinationStates as states } from '../status/destinations.ts'
import { failures } from './failures.ts'
import { name, pageOf, whole } from './inputs.ts'
import { map, mappings, unmapped } from './mapping.ts'
import { operation } from './operation.ts'
import { preview } from './preview.ts'
import { resend } from './resend.ts'
import { verify } from './verify.ts'

const list = operation({
  name: 'destination.list',
  summary: 'list destinations with their state and waiting changes',
  role: 'viewer',
  http: 'GET /destinations',
  input: z.strictObject({}),
  output: pageOf(destinationStatus),
  run: async (c) => whole(await readPushStatus(c.db.read, c.config)),
  table: [
    'Destinations',
    [
      ...(['destination', 'kind'] as const),
      ['state', ({ state }) => state ?? 'not started'],
      ...(['since', 'queued', 'oldest_queued_at', 'dead', 'unknown', 'retry_at'] as const),
      ['last delivery', (d, now) => when(d.last_success_at, now)],
      ['success rate', ({ last_day: { success_rate: rate } }) => (rate === null ? null : percent(rate))],
      ['answered', ({ verified }) => verified && presenceText(verified)],
      ['verified_at', ({ verified }) => verified?.at ?? null],
      'reason',
    ],
    'No destinations.',
  ],
})

/** Maximum number of streams that one transaction makes due. A larger transaction would delay other writers. */
const STEP = 500

/**
 * Pauses a destination.
 * @param reason null for a default reason. If `reason` is null and the destination is already paused, changes nothing.
 * @returns the destination before the change.
 */
async function pauseDestination(a: ActionContext, name: string, reason: string | null): Promise<DestinationRow> {
  const before = await knownDestination(a.db.read, name)
  const { state } = before
  if (state === 'paused' && reason === null) return before
  const shownReason = printableLine(reason ?? `paused by ${a.who === 'command' ? 'an operator' : a.who}`)
  const db = auditedDb(a.db, { who: a.who, action: 'destination.pause', target: name, detail: { reason: shownReason } })
  await setDestinationState(db, name, 'paused', shownReason, state)
  return before
}

/**
 * Resumes a destination, and makes its changes due now, including changes that wait for another attempt.
 * @returns the destination before the change.
 * @throws NotFoundError if the database has no such destination.
 */
export async function resumeDestination(a: ActionContext, name: string): Promise<DestinationRow> {
  const before = await knownDestination(a.db.read, name)
  const db = auditedDb(a.db, { who: a.who, action: 'destination.resume', target: name, detail: { was: before.state } })
  await setDestinationState(db, name, 'active', null)
  await untilDone(a, async (after) => ((await makeStreamsDue(a.db, name, STEP)) === STEP ? after + STEP : null))
  return before
}

const named = { name: name.describe('destination name') }

const changed = record('DestinationChanged', {
  destination: z.string(),
  state: states,
  was: states,
  reason: z.string().nullable().describe('why it was in that state'),
})

const pause = operation({
  name: 'destination.pause',
  summary: 'pause a destination: changes are queued but not sent',
  role: 'operator',
  http: 'POST /destinations/:name/pause',
  input: z.strictObject({ ...named, reason: name.optional().describe('reason shown in the list') }),
  argument: 'name',
  output: changed,
  run: async (c, { name: of, reason: why }) => {
    const { state: was, reason } = await pauseDestination(c, of, why ?? null)
    return { destination: of, state: 'paused' as const, was, reason }
  },
  print: (to, { destination: of, was, reason }, { reason: why }) => {
    const already = was === 'paused' && why === undefined ? ` already${whyOf(reason)}` : ''
    to.line(`Destination ${of} is paused${already}. Changes are queued but not sent until you run \`destination resume ${of}\`.`)
  },
})

const resume = operation({
  name: 'destination.resume',
  summary: 'resume a paused or suspended destination and retry failed changes now',
  role: 'operator',
  http: 'POST /destinations/:name/resume',
  input: z.strictObject(named),
  argument: 'name',
  output: changed,
  run: async (c, { name: of }) => {
    const { state: was, reason } = await resumeDestination(c, of)
    return { destination: of, state: 'active' as const, was, reason }
  },
  print: (to, { destination: of, was, reason }) =>
    to.line(`Destination ${of} is active${was === 'active' ? '' : `; it was ${was}${whyOf(reason)}`}.`),
})

function whyOf(reason: string | null): string {
  return reason ? ` (${printableLine(reason)})` : ''
}

const test = operation({
  name: 'destination.test',
  summary: 'test a destination with one harmless request',
  role: 'operator',
  http: 'POST /destinations/:name/test',
  needs: 'destinations',
  input: z.strictObject(named),
  argument: 'name',
  output: record('DestinationTried', {
    destination: z.string(),
    ok: z.boolean().nullable().describe('null: this kind has no harmless request'),
    text: z.string().describe('the result in one sentence'),
  }),
  exit: ({ ok }) => (ok ? 0 : 1),
  run: async (c, { name: of }) => {
    const settings = destinationNamed(c.config, of)
    const { made } = await c.attempt({ action: 'destination.test', target: of, detail: {} }, async () => {
      const made = await probeDestination({ ...c, host: c }, c.config, settings)
      return { made, detail: { ok: made.ok }, failed: !made.ok }
    })
    return { destination: of, ...made }
  },
  print: (to, { destination: of, text }) => to.line(`Destination ${of}: ${text}`),
})

export const operations = [list, failures, pause, resume, test, preview, resend, verify, map, mappings, unmapped]
