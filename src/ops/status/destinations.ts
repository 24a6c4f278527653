import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'
import { logEnds } from '../../store/changes/log-info.ts'
import type { Query } from '../../store/engine/db.ts'
import { COUNT_CAP } from '../../store/engine/sql.ts'
import { countDestinations, oldestQueued } from '../../store/outbox/destinations.ts'
import { countBlockedStreams } from '../../store/outbox/streams.ts'
import { record, time } from '../output/schema.ts'
import { pluralize } from '../output/text.ts'
import { addressOf, canVerify, narrowedTo } from './destination-settings.ts'
import { lastDay, readLastDay } from './last-day.ts'

export const destinationStates = z.enum(['active', 'paused', 'suspended'])

export const destinationStatus = record('Destination', {
  destination: z.string(),
  kind: z.string().nullable().describe('null: no longer in the settings'),
  state: destinationStates.nullable().describe('null: not served yet'),
  reason: z.string().nullable(),
  since: time.nullable(),
  retry_at: time.nullable(),
  cursor: z.int().nullable().describe('the newest queued change'),
  queued: z.int().describe(`counted up to ${COUNT_CAP}, like \`dead\` and \`unknown\``),
  oldest_queued_at: time.nullable(),
  dead: z.int(),
  unknown: z.int(),
  unmapped_streams: z.int().describe('submissions that need an AMS client'),
  held_streams: z.int().describe('submissions behind a dead-lettered change or an unknown outcome'),
  filtered: z.int().describe('changes that its `filter` has excluded'),
  filter_error: z
    .string()
    .nullable()
    .describe('the change on which its `filter` fails, and why (this and all later changes wait); null: no error'),
  behind: z.int().nullable().describe('changes that are not queued yet'),
  failures: z.int().describe('in a row'),
  circuit: z.enum(['closed', 'open']).describe('`open`: throttled after failures until `retry_at`'),
  requests_per_second: z.number().nullable().describe('total of all processes; null: no limit'),
  concurrency: z.int().nullable().describe('attempts in flight in one process'),
  mapping: z
    .enum(['none', 'required', 'lookup'])
    .nullable()
    .describe('whether submissions need an AMS client, and whether it is looked up; null: not in the settings'),
  address: z.string().nullable().describe('without user and query; for files the folder; null if a template determines it'),
  gets: z.string().nullable().describe('its filters as text: tables, operations, event types, accounts; `everything` without filters'),
  last_success_at: time.nullable().describe('time of the last delivered change, with a delay of some seconds'),
  last_day: lastDay,
  verified: z
    .object({
      at: time,
      delivered: z.int().describe('delivered changes'),
      asked: z.int(),
      has: z.int(),
      lacks: z.int(),
      differs: z.int(),
      undetermined: z.int(),
      repaired: z.int(),
    })
    .nullable()
    .describe('result of the last verification of all delivered changes, or a sample; null: never'),
  can_verify: z.boolean().describe('whether it can be verified'),
  on_dead: z.enum(['continue', 'hold']).nullable().describe('what happens to the changes of a submission behind a dead-lettered one'),
})

export type DestinationStatus = z.output<typeof destinationStatus>

/** Values of a destination that has no stored state. */
const noRows = { queued: 0, dead: 0, unknown: 0, filtered: 0, failures: 0 }
const unserved = { ...noRows, state: null, reason: null, since: null, cursor: null, last_success_at: null, filter_error: null }

/** @returns configured destinations in the order of the settings, then destinations that only the database has. */
export async function readPushStatus(q: Query, config: Pick<Config, 'accounts' | 'destinations'>): Promise<DestinationStatus[]> {
  const { destinations: configured } = config
  const rows = new Map((await countDestinations(q)).map((row) => [row.destination, row]))
  const names = new Set([...configured.map(({ name }) => name), ...rows.keys()])
  const all: DestinationStatus[] = []
  const lastDayOf = await readLastDay(q)
  const { last_seq } = await logEnds(q)
  // `retry_at` keeps the end of the last throttling, so ignore a time in the past.
  const futureOnly = (end: TimeText | null) => (end !== null && msFromTime(end) > q.clock.now() ? end : null)
  for (const name of names) {
    const row = rows.get(name)
    const blocked = await countBlockedStreams(q, name)
    const settings = configured.find((each) => each.name === name)
    const retryAt = futureOnly(row?.retry_at ?? null)
    all.push({
      ...(row ?? unserved),
      destination: name,
      kind: settings?.kind ?? null,
      retry_at: retryAt,
      oldest_queued_at: row ? await oldestQueued(q, name) : null,
      unmapped_streams: blocked.unmapped,
      held_streams: blocked.held,
      behind: row ? Math.max(0, last_seq - row.cursor) : null,
      circuit: retryAt === null ? ('closed' as const) : ('open' as const),
      requests_per_second: settings?.rps ?? null,
      concurrency: settings?.concurrency ?? null,
      address: settings ? addressOf(settings) : null,
      gets: settings ? narrowedTo(settings, config) : null,
      last_day: lastDayOf(name),
      mapping: settings?.mapping ?? null,
      verified: row?.verified && row.verified_at ? { at: row.verified_at, ...row.verified } : null,
      can_verify: settings ? canVerify(settings) : false,
      on_dead: settings?.onDead ?? null,
    })
  }
  return all
}

/** @returns notes for operators about a destination. Notes don't change the verdict. */
export function destinationNotes({ destination, kind, queued }: DestinationStatus): string[] {
  if (kind !== null || queued === 0) return []
  return [
    `destination ${destination} is not in these settings, but has ${pluralize(queued, 'queued change')}. If \`serve\` ` +
      'uses another CONFIG_FILE, use that file. If the destination was removed by mistake, add it again. ' +
      `\`submission-mirror outbox list --destination ${destination} --state ready\` lists the changes`,
  ]
}
