import { z } from 'zod'
import { destinationNamed, pauseDestination, resumeDestination } from '../actions/destinations.ts'
import { probeDestination } from '../actions/probe.ts'
import { ago, printableLine, until } from '../output/text.ts'
import { time } from '../output/time.ts'
import { readPushStatus } from '../status/destinations.ts'
import { name, pageOf, whole } from './inputs.ts'
import { map, mappings, unmapped } from './mapping.ts'
import { operation } from './operation.ts'
import { resend } from './resend.ts'

const states = z.enum(['active', 'paused', 'parked', 'disabled'])

const destination = z
  .object({
    destination: z.string(),
    kind: z.string().nullable().meta({ description: 'null: the settings have none of this name any more' }),
    state: states.nullable().meta({ description: 'null: it was not served yet' }),
    reason: z.string().nullable(),
    since: time.nullable(),
    retry_at: time.nullable(),
    cursor: z.int().nullable().meta({ description: 'the newest change that was queued for it' }),
    queued: z.int(),
    oldest_queued_at: time.nullable(),
    dead: z.int(),
    unknown: z.int(),
    unmapped_lanes: z.int().meta({ description: 'submissions that wait for a client of the AMS' }),
    held_lanes: z.int().meta({ description: 'submissions that a dead letter or an unknown outcome holds' }),
    behind: z.int().nullable().meta({ description: 'changes of the log that are not yet queued for it' }),
    failures: z.int().meta({ description: 'in a row' }),
    circuit: z.enum(['closed', 'open']).meta({ description: '`open`: it rests after failures until `retry_at`' }),
    requests_per_second: z.number().nullable().meta({ description: 'over all processes; null: no limit' }),
    concurrency: z.int().nullable().meta({ description: 'attempts in flight in one process' }),
    mapping: z
      .enum(['none', 'required', 'lookup'])
      .nullable()
      .meta({ description: 'whether a submission needs a client of the AMS there, and if one is looked up; null: not in the settings' }),
    on_dead: z
      .enum(['continue', 'hold'])
      .nullable()
      .meta({ description: 'what the changes of a submission do behind one that was given up' }),
  })
  .meta({ id: 'Destination' })

const list = operation({
  name: 'destination.list',
  summary: 'list the destinations, their state, and what waits for them',
  role: 'viewer',
  http: 'GET /destinations',
  input: z.strictObject({}),
  output: pageOf(destination),
  run: async (c) => whole(await readPushStatus(c.db.read, c.config.destinations)),
  print: (to, { items }) => {
    const headings = [
      ...['destination', 'kind', 'state', 'for', 'queued', 'oldest', 'dead', 'unknown', 'next try'],
      { heading: 'reason', fit: 'below' } as const,
    ]
    const rows = items.map((d) => [
      ...[d.destination, d.kind, d.state, ago(d.since, to.now), d.queued, ago(d.oldest_queued_at, to.now), d.dead, d.unknown],
      ...[until(d.retry_at, to.now), d.reason],
    ])
    to.table({ title: 'Destinations', headings, rows }, 'There is no destination.')
  },
})

const named = { name: name.meta({ description: 'of the destination' }) }

const changed = z
  .object({
    destination: z.string(),
    state: states,
    was: states,
    reason: z.string().nullable().meta({ description: 'why it was so' }),
  })
  .meta({ id: 'DestinationChanged' })

const pause = operation({
  name: 'destination.pause',
  summary: 'send nothing to a destination any more; its changes are queued all the same',
  role: 'operator',
  http: 'POST /destinations/:name/pause',
  input: z.strictObject({ ...named, reason: name.optional().meta({ description: 'why, for whoever looks at the list' }) }),
  argument: 'name',
  output: changed,
  run: async (c, { name: of, reason: why }) => {
    const { state: was, reason } = await pauseDestination(c, of, why ?? null)
    return { destination: of, state: 'paused' as const, was, reason }
  },
  print: (to, { destination: of, was, reason }, { reason: why }) => {
    const already = was === 'paused' && why === undefined ? ` already${whyOf(reason)}` : ''
    to.line(`destination ${of} is paused${already}: its changes are queued, and nothing is sent until \`destination resume ${of}\``)
  },
})

const resume = operation({
  name: 'destination.resume',
  summary: 'let a paused, parked or disabled destination go on, end its rest, and try now what failed before',
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
    to.line(`destination ${of} is active${was === 'active' ? '' : `; it was ${was}${whyOf(reason)}`}`),
})

function whyOf(reason: string | null): string {
  return reason ? ` (${printableLine(reason)})` : ''
}

const test = operation({
  name: 'destination.test',
  summary: 'make one harmless try, and tell what came of it',
  role: 'operator',
  http: 'POST /destinations/:name/test',
  needs: 'destinations',
  input: z.strictObject(named),
  argument: 'name',
  output: z
    .object({
      destination: z.string(),
      ok: z.boolean().nullable().meta({ description: 'null: nothing harmless can be tried' }),
      text: z.string().meta({ description: 'what the try showed, in a sentence' }),
    })
    .meta({ id: 'DestinationTried' }),
  exit: ({ ok }) => (ok ? 0 : 1),
  run: async (c, { name: of }) => {
    const settings = destinationNamed(c.config, of)
    const { made } = await c.attempt({ action: 'destination.test', target: of, detail: {} }, async () => {
      const made = await probeDestination({ ...c, host: c }, c.config, settings)
      return { made, detail: { ok: made.ok }, failed: !made.ok }
    })
    return { destination: of, ...made }
  },
  print: (to, { destination: of, text }) => to.line(`destination ${of}: ${text}`),
})

/** `destination list|pause|resume|test|resend|map|mappings|unmapped` */
export const operations = [list, pause, resume, test, resend, map, mappings, unmapped]
