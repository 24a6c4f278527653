import { z } from 'zod'
import { accountNamed } from '../../actions/accounts.ts'
import { requestSync, trackSubmissions } from '../../actions/submissions.ts'
import { name, submissionId } from '../../operations/inputs.ts'
import { answersOfAction } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'

const MOST_TRACKED = 10_000
const MOST_SYNCED = 500
/** Room for the most that may be tracked. */
const TRACK_LIMIT_BYTES = 1024 * 1024

const account = name.optional().meta({ description: 'the account that they belong to; the default account when left out' })

const trackBody = z.strictObject({ account, ids: z.array(submissionId).min(1).max(MOST_TRACKED) })
const syncBody = z.strictObject({
  account,
  ids: z.array(submissionId).min(1).max(MOST_SYNCED),
  replay: z
    .boolean()
    .default(true)
    .meta({ description: 'false: the feeds are read on from where they were read to, not from the beginning' }),
})

const tracked = z
  .object({
    account: z.string(),
    added: z.int().meta({ description: 'not known before' }),
    known: z.int().meta({ description: 'known before' }),
    purged: z.int().meta({ description: 'purged before, and therefore not tracked' }),
  })
  .meta({ id: 'SubmissionsTracked' })

const asked = z
  .object({ account: z.string(), submissions: z.int().meta({ description: 'how many will be read' }) })
  .meta({ id: 'SyncRequested' })

const track = {
  summary: 'make submissions known: their feeds are read from the beginning and kept up to date',
  tags: ['submissions'],
  body: trackBody,
  response: answersOfAction('how many were new', tracked),
}

const sync = {
  summary: 'have submissions read from the service now, feeds and state',
  description:
    'The answer comes at once; the process that polls reads them, feeds from the beginning unless `replay` is false, within the rate of the account. What failed ' +
    'before keeps its time. The view `freshness` tells when each was read.',
  tags: ['submissions'],
  body: syncBody,
  response: answersOfAction('it is asked for', asked),
}

/** `/submissions` */
export function addSubmissions(api: Api, p: AdminParts): void {
  api.post('/submissions/track', { schema: track, bodyLimit: TRACK_LIMIT_BYTES }, async (request) => {
    const { name: of } = accountNamed(p.config(), request.body.account, 'account')
    return { account: of, ...(await trackSubmissions(actionContextFor(p, request), of, [...new Set(request.body.ids)])) }
  })
  api.post('/submissions/sync', { schema: sync }, async (request) => {
    const { name: of } = accountNamed(p.config(), request.body.account, 'account')
    const ids = [...new Set(request.body.ids)]
    await requestSync(actionContextFor(p, request), of, ids, { replay: request.body.replay })
    return { account: of, submissions: ids.length }
  })
}
