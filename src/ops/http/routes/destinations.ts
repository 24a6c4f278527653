import { z } from 'zod'
import { parseSeqRange } from '../../actions/arguments.ts'
import { auditedProbe, destinationNamed, pauseDestination, resumeDestination } from '../../actions/destinations.ts'
import { probeDestination } from '../../actions/probe.ts'
import { prepareResend, type ResendRequest, resend, resendEntities, shownResend } from '../../actions/resend.ts'
import { moment, momentOf, submissionId, time } from '../../operations/inputs.ts'
import { readPushStatus } from '../../status/destinations.ts'
import { answers, answersOfAction } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'
import { named, pageOf, whole } from '../api/schemas.ts'

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

const changed = z.object({ destination: z.string(), state: states, was: states.optional() }).meta({ id: 'DestinationChanged' })
const tried = z
  .object({
    destination: z.string(),
    ok: z.boolean().nullable().meta({ description: 'null: nothing harmless can be tried' }),
    text: z.string().meta({ description: 'what the try showed, in a sentence' }),
  })
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

const resent = z
  .object({
    destination: z.string(),
    dry_run: z.boolean(),
    queued: z.int(),
    changes: z.int().meta({ description: 'that are sent again, or would be' }),
    submissions: z.int(),
    first_seq: z.int().nullable(),
    last_seq: z.int().nullable(),
    waiting: z.int().meta({ description: 'of them, those that still wait from before: they are sent twice' }),
    given_up: z.int().meta({ description: 'of them, those that were given up before' }),
    filtered: z.int().meta({ description: 'left out by the filters of the destination, as they are now' }),
    purged: z.int().meta({ description: 'left out because their submissions were purged' }),
    changed_since: z.int().meta({ description: 'submissions with later changes that are not among them' }),
    continues: z.boolean().meta({ description: 'this is the rest of the same resend, interrupted earlier' }),
    notes: z.array(z.string()).meta({ description: 'what to know of it, a sentence each' }),
  })
  .meta({ id: 'Resent' })

const resendSchema = {
  summary: 'send changes again that a destination lost, in their order, behind what waits; with `dry_run` only say how many',
  description: 'Interrupted, the same request within a day goes on with the rest.',
  tags: ['destinations'],
  params: named,
  body: z
    .strictObject({
      since: moment.optional().meta({ description: 'logged at or after' }),
      until: moment.optional().meta({ description: 'logged before' }),
      seq: z
        .string()
        .max(40)
        .refine((text) => parseSeqRange(text, '', []) !== undefined, 'are no numbers of changes; give the first and the last, like 100-250')
        .optional(),
      submission_id: submissionId.optional(),
      entity: z.enum(resendEntities).optional().meta({ description: 'a table' }),
      new_ids: z.boolean().default(false).meta({ description: 'under new message ids, for a receiver that leaves out those it has seen' }),
      dry_run: z.boolean().default(false),
    })
    .refine(
      ({ new_ids: _, dry_run: _dry, ...which }) => Object.values(which).some((value) => value !== undefined),
      'say which changes by since, until, seq, submission_id, or entity',
    ),
  response: answersOfAction('how many are sent again', resent),
}

type ResendBody = z.output<typeof resendSchema.body>

function resendRequest(p: AdminParts, { new_ids, dry_run: _, ...which }: ResendBody): ResendRequest {
  const { since, until, seq, submission_id, entity } = which
  return {
    selection: {
      ...{ since: momentOf(p, since), until: momentOf(p, until), seq: parseSeqRange(seq, '', []) },
      ...{ submissionId: submission_id, entity },
    },
    asked: Object.fromEntries(Object.entries(which).filter((pair): pair is [string, string] => pair[1] !== undefined)),
    newIds: new_ids,
  }
}

function addResend(api: Api, p: AdminParts): void {
  api.post('/destinations/:name/resend', { schema: resendSchema }, async (request) => {
    const { body } = request
    const a = actionContextFor(p, request)
    const prepared = await prepareResend(a, p.config(), request.params.name, resendRequest(p, body))
    const queued = body.dry_run || prepared.plan.changes === 0 ? 0 : await resend(a, prepared)
    return { dry_run: body.dry_run, queued, ...shownResend(prepared) }
  })
}

/** `/destinations` */
export function addDestinations(api: Api, p: AdminParts): void {
  addResend(api, p)
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
