import { z } from 'zod'
import { auditedProbe, destinationNamed, pauseDestination, resumeDestination } from '../../actions/destinations.ts'
import { probeDestination } from '../../actions/probe.ts'
import { readPushStatus } from '../../status/destinations.ts'
import { answers, answersOfAction } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'
import { named, pageOf, time, whole } from '../api/schemas.ts'

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
  })
  .meta({ id: 'Destination' })

const changed = z.object({ destination: z.string(), state: states, was: states.optional() }).meta({ id: 'DestinationChanged' })
const tried = z
  .object({ destination: z.string(), ok: z.boolean(), text: z.string().meta({ description: 'what the try showed, in a sentence' }) })
  .meta({ id: 'DestinationTried' })

const list = {
  summary: 'the destinations, their state, and what waits for them',
  tags: ['destinations'],
  response: answers('all destinations', pageOf(destination)),
}

const pause = {
  summary: 'send nothing to a destination any more; its changes are queued all the same',
  tags: ['destinations'],
  params: named,
  body: z
    .strictObject({ reason: z.string().min(1).max(200).optional().meta({ description: 'why, for whoever looks at the list' }) })
    .nullish(),
  response: answersOfAction('it is paused', changed),
}

const resume = {
  summary: 'let a paused, parked or disabled destination go on, end its rest, and try now what failed before',
  tags: ['destinations'],
  params: named,
  response: answersOfAction('it is active', changed),
}

const test = {
  summary: 'make one harmless try, and tell what came of it',
  tags: ['destinations'],
  params: named,
  response: answersOfAction('what came of it', tried),
}

/** `/destinations` */
export function addDestinations(api: Api, p: AdminParts): void {
  api.get('/destinations', { schema: list }, async () => whole(await readPushStatus(p.db.read, p.config().destinations)))
  api.post('/destinations/:name/pause', { schema: pause }, async (request) => {
    const { name } = request.params
    await pauseDestination(actionContextFor(p, request), name, request.body?.reason ?? null)
    return { destination: name, state: 'paused' as const }
  })
  api.post('/destinations/:name/resume', { schema: resume }, async (request) => {
    const { name } = request.params
    const before = await resumeDestination(actionContextFor(p, request), name)
    return { destination: name, state: 'active' as const, was: before.state }
  })
  api.post('/destinations/:name/test', { schema: test }, async (request) => {
    const { name } = request.params
    const config = p.config()
    const settings = destinationNamed(config, name)
    const parts = { clock: p.clock, log: p.log, host: { signal: p.signal } }
    return {
      destination: name,
      ...(await auditedProbe(actionContextFor(p, request), name, () => probeDestination(parts, config, settings))),
    }
  })
}
