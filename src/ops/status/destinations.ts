import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { COUNT_CAP } from '../../store/engine/sql.ts'
import { countDestinations, oldestQueued } from '../../store/outbox/destinations.ts'
import { countBlockedLanes } from '../../store/outbox/lanes.ts'
import { changeLogEnds } from '../../store/upkeep/gauges.ts'
import { record, time } from '../output/schema.ts'
import { pluralize } from '../output/text.ts'
import { addressOf, canVerify, narrowedTo } from './destination-settings.ts'
import { readLastDay } from './last-day.ts'

export const destinationStates = z.enum(['active', 'paused', 'suspended'])

/** A destination in numbers. */
export const destinationStatus = record('Destination', {
  destination: z.string(),
  kind: z.string().nullable().describe('null: the settings have none of this name any more'),
  state: destinationStates.nullable().describe('null: it was not served yet'),
  reason: z.string().nullable(),
  since: time.nullable(),
  retry_at: time.nullable(),
  cursor: z.int().nullable().describe('the newest change that was queued for it'),
  queued: z.int().describe(`counted, as \`dead\` and \`unknown\`, up to ${COUNT_CAP}`),
  oldest_queued_at: time.nullable(),
  dead: z.int(),
  unknown: z.int(),
  unmapped_lanes: z.int().describe('submissions that wait for a client of the AMS'),
  held_lanes: z.int().describe('submissions that a dead letter or an unknown outcome holds'),
  filtered: z.int().describe('changes that its `filter` has left out so far'),
  filter_error: z
    .string()
    .nullable()
    .describe('on which change its `filter` fails, and why: this and all later changes wait; null: it does not fail'),
  behind: z.int().nullable().describe('changes of the log that are not yet queued for it'),
  failures: z.int().describe('in a row'),
  circuit: z.enum(['closed', 'open']).describe('`open`: it rests after failures until `retry_at`'),
  requests_per_second: z.number().nullable().describe('over all processes; null: no limit'),
  concurrency: z.int().nullable().describe('attempts in flight in one process'),
  mapping: z
    .enum(['none', 'required', 'lookup'])
    .nullable()
    .describe('whether a submission needs a client of the AMS there, and if one is looked up; null: not in the settings'),
  address: z.string().nullable().describe('without user and query, of files the folder; null where a template says it'),
  gets: z
    .string()
    .nullable()
    .describe('what it is narrowed to, in words: tables, operations, event types, accounts; `everything` when it is not'),
  last_success_at: time.nullable().describe('when it took a change last, known some seconds later'),
  last_day: z
    .object({
      delivered: z.int(),
      given_up: z.int().describe('became dead, or of unknown outcome'),
      success_rate: z.number().nullable().describe('delivered of all that ended, 0 to 1; null when nothing did'),
      latency_p50: z.number().nullable().describe('seconds from the change to its delivery; without snapshots and what is sent again'),
      latency_p99: z.number().nullable().describe('seconds, likewise'),
    })
    .describe('of the hours that began within the last 24'),
  verified: z
    .object({
      at: time,
      delivered: z.int().describe('changes that counted as delivered'),
      asked: z.int(),
      has: z.int(),
      lacks: z.int(),
      differs: z.int(),
      cannot_tell: z.int(),
      repaired: z.int(),
    })
    .nullable()
    .describe('what it answered when it was last asked for all that it took, or for a sample; null: never'),
  can_verify: z.boolean().describe('whether it can be asked what it has'),
  on_dead: z.enum(['continue', 'hold']).nullable().describe('what the changes of a submission do behind one that was given up'),
})

export type DestinationStatus = z.output<typeof destinationStatus>

/** Every destination of the settings in their order, then those that only the database knows. */
export async function readPushStatus(q: Query, config: Pick<Config, 'accounts' | 'destinations'>): Promise<DestinationStatus[]> {
  const { destinations: configured } = config
  const rows = new Map((await countDestinations(q)).map((row) => [row.destination, row]))
  const names = new Set([...configured.map(({ name }) => name), ...rows.keys()])
  const all: DestinationStatus[] = []
  const lastDayOf = await readLastDay(q)
  const { lastSeq } = await changeLogEnds(q)
  // The store keeps the end of a rest that is over.
  const restOf = (end: TimeText | null) => (end !== null && msFromTime(end) > q.clock.now() ? end : null)
  for (const name of names) {
    const row = rows.get(name)
    const blocked = await countBlockedLanes(q, name)
    const settings = configured.find((each) => each.name === name)
    const retryAt = restOf(row?.retry_at ?? null)
    all.push({
      destination: name,
      kind: settings?.kind ?? null,
      state: row?.state ?? null,
      reason: row?.reason ?? null,
      since: row?.since ?? null,
      retry_at: retryAt,
      cursor: row?.cursor ?? null,
      queued: row?.queued ?? 0,
      oldest_queued_at: row ? await oldestQueued(q, name) : null,
      dead: row?.dead ?? 0,
      unknown: row?.unknown ?? 0,
      unmapped_lanes: blocked.unmapped,
      held_lanes: blocked.held,
      filtered: row?.filtered ?? 0,
      filter_error: row?.filter_error ?? null,
      behind: row ? Math.max(0, lastSeq - row.cursor) : null,
      failures: row?.failures ?? 0,
      circuit: retryAt === null ? ('closed' as const) : ('open' as const),
      requests_per_second: settings?.rps ?? null,
      concurrency: settings?.concurrency ?? null,
      address: settings ? addressOf(settings) : null,
      gets: settings ? narrowedTo(settings, config) : null,
      last_success_at: row?.last_success_at ?? null,
      last_day: lastDayOf(name),
      mapping: settings?.mapping ?? null,
      verified: row?.verified && row.verified_at ? { at: row.verified_at, ...row.verified } : null,
      can_verify: settings ? canVerify(settings) : false,
      on_dead: settings?.onDead ?? null,
    })
  }
  return all
}

/** What an operator should know of a destination though it needs nobody now. */
export function destinationNotes({ destination, kind, queued }: DestinationStatus): string[] {
  if (kind !== null || queued === 0) return []
  return [
    `destination ${destination} is not in these settings, and ${pluralize(queued, 'change')} for it ${queued === 1 ? 'waits' : 'wait'}. If \`serve\` ` +
      'runs with another CONFIG_FILE, use that one. If the destination was removed by mistake, put it back. ' +
      `\`submission-mirror outbox list --destination ${destination} --state ready\` lists what waits`,
  ]
}
