import { z } from 'zod'
import {
  accountsWithSubmissions,
  countSubmissions,
  isPlaceIn,
  type SubmissionOrder,
  type SubmissionPlace,
  submissionOrders,
} from '../../store/mirror/submission-list.ts'
import { type TimelinePlace, timelineKinds, timelinePlace } from '../../store/mirror/timeline.ts'
import { auditedDb } from '../../store/operators/actions.ts'
import { requestReads } from '../../store/reads/request-reads.ts'
import { CHIPS } from '../../store/schema/list-keys.ts'
import { atMoment } from '../actions/as-of.ts'
import { idsForAudit } from '../actions/context.ts'
import { accountNamed, refuseUntracked } from '../actions/names.ts'
import { submissionsPage } from '../actions/submissions-page.ts'
import { timelinePage } from '../actions/timeline.ts'
import { record } from '../output/schema.ts'
import {
  accountIn,
  atTime,
  cursorOf,
  inOneAccount,
  name,
  noCursor,
  ofAccount,
  oneSubmission,
  pageOf,
  paging,
  placeIn,
  submissionId,
} from './inputs.ts'
import { type OperationContext, operation } from './operation.ts'
import { submissionItem, timelineItem } from './submission-answers.ts'

const MOST_SYNCED = 500
const MOST_COUNTED = 1_000

const list = operation({
  name: 'submission.list',
  summary: 'list submissions with their stage, latest activity first',
  description:
    'Includes lanes, best quote and open items. Other operations on a submission need its `account` and `submission_id`. Pages are stable while ' +
    'submissions are added.',
  role: 'viewer',
  http: 'GET /submissions',
  hasCsv: true,
  tool: 'search_submissions',
  toolFields: { search: 'query' },
  input: z.strictObject({
    search: name
      .optional()
      .describe('first letters of words in the insured name, first characters of an id or market name, or a lane status; case-insensitive'),
    account: ofAccount,
    market: name.optional().describe('only with a lane at this market (name or its start)'),
    status: name.optional().describe('only with a lane in this status'),
    stage: name.optional().describe('only this stage'),
    sort: z
      .enum(submissionOrders)
      .default('-moved')
      .describe('order; `-` reverses it. `stage`, `lowest_quote` and `outstanding` work for up to 5,000 submissions, so filter first'),
    ...paging,
  }),
  output: pageOf(submissionItem),
  run: async (c, { sort: order, cursor, ...asked }) => {
    const { items, next } = await submissionsPage(c.db.read, { ...asked, order, after: submissionPlace(c, order, cursor) })
    return { items, next_cursor: next && cursorOf([next.account, next.submission_id, next.key]) }
  },
  table: [
    'Submissions',
    [
      ...(['submission_id', 'account', 'insured_name', 'stage'] as const),
      ['lowest quote', (item) => item.best_quote?.premium_display],
      ...(['outstanding_count', 'moved_at', 'oldest_read_at', 'reconciled_at'] as const),
    ],
    'No submissions.',
  ],
})

const counts = operation({
  name: 'submission.counts',
  summary: `count submissions by stage, each up to ${MOST_COUNTED}`,
  role: 'viewer',
  http: 'GET /submissions/counts',
  input: z.strictObject({ account: ofAccount }),
  output: pageOf(
    record('SubmissionCount', { stage: z.string(), count: z.int(), is_complete: z.boolean().describe('false if there may be more') }),
  ),
  run: async (c, { account }) => {
    const accounts = account === undefined ? await accountsWithSubmissions(c.sums.read) : [account]
    const counted: { stage: string; count: number; is_complete: boolean }[] = []
    for (const stage of [...CHIPS, 'unreachable', 'unknown'])
      counted.push({ stage, ...(await countSubmissions(c.sums.read, accounts, stage, MOST_COUNTED)) })
    return { items: counted, next_cursor: null }
  },
  table: ['Submissions by stage', ['stage', 'count', ['more', (row) => (row.is_complete ? null : 'or more')]], 'No submissions.'],
})

function submissionPlace({ db }: OperationContext, order: SubmissionOrder, cursor: string | undefined): SubmissionPlace | undefined {
  if (cursor === undefined) return undefined
  const [account, submission_id, key] = placeIn(cursor, ['string', 'string', 'string'])
  const place = { account, submission_id, key }
  if (!isPlaceIn(db.read, order, place)) throw noCursor()
  return place
}

const ofTimeline = {
  input: z.strictObject({
    ...oneSubmission,
    ...atTime,
    kinds: z
      .array(z.enum(timelineKinds))
      .min(1)
      .max(timelineKinds.length)
      .optional()
      .describe(`only these kinds, separated by commas: ${timelineKinds.join(', ')}`),
    ...paging,
  }),
  argument: 'submission_id',
  output: pageOf(timelineItem),
} as const

async function readTimeline(
  c: OperationContext,
  { account: of, submission_id: submissionId, cursor, kinds, limit, ...asked }: z.output<typeof ofTimeline.input>,
) {
  const account = await accountIn(c, of)
  const place = { account, submissionId, kinds, limit, after: placeOfEntry(cursor) }
  const { items, next } = await atMoment(c, place, asked, (rows, asOf) => timelinePage(c.db.read, { ...place, rows, until: asOf?.seq }))
  return { items, next_cursor: next && cursorOf([next.at, next.kind, next.id]) }
}

const timeline = operation({
  ...ofTimeline,
  name: 'submission.timeline',
  summary: 'list events, messages, changes and pushes of a submission, newest first',
  description:
    'Each entry shows when it happened, how and when it became known, and its deliveries to destinations. Pushes are shown until retention ' +
    'removes them.',
  role: 'viewer',
  http: 'GET /submissions/:account/:submission_id/timeline',
  tool: 'get_timeline',
  run: readTimeline,
  table: [
    'Timeline, newest first',
    [
      ...(['at', 'kind', 'what', 'party'] as const),
      ['by', (item) => item.known_via ?? item.destination],
      ['summary', (item) => item.summary ?? item.state],
    ],
    'No activity.',
  ],
})

const whole = operation({
  ...ofTimeline,
  name: 'submission.texts',
  summary: 'list the timeline of a submission with unmasked texts; viewing is recorded',
  role: 'operator',
  http: 'GET /submissions/:account/:submission_id/texts',
  withoutCommand: '`submission timeline` shows unmasked texts at the terminal',
  shows: (_, { account, submission_id }) => ({ target: account ?? null, detail: { submission: submission_id } }),
  run: readTimeline,
})

function placeOfEntry(cursor: string | undefined): TimelinePlace | undefined {
  if (cursor === undefined) return undefined
  const place = timelinePlace(...placeIn(cursor, ['string', 'string', 'string']))
  if (place === null) throw noCursor()
  return place
}

const sync = operation({
  name: 'submission.sync',
  summary: 'read submissions from the service now: feeds and state',
  description:
    'Answers immediately; `serve` reads them within the rate of the account. Feeds are re-read in full unless `full_read` is false. Failed reads ' +
    'keep their retry time. The view `freshness` shows when each was read.',
  role: 'operator',
  needs: 'account',
  http: 'POST /submissions/sync',
  tool: 'sync',
  withoutCommand: '`sync` reads them itself and prints the result',
  input: z.strictObject({
    account: inOneAccount,
    ids: z.array(submissionId).min(1).max(MOST_SYNCED),
    full_read: z.boolean().default(true).describe('false: continue feeds from their cursor instead of re-reading them'),
  }),
  output: record('SyncRequested', { account: z.string(), submissions: z.int().describe('submissions that will be read') }),
  run: async (c, { account: of, ids: given, full_read: fullRead }) => {
    const { name: account } = accountNamed(c.config, of, c.nameOf('account'))
    const ids = [...new Set(given)]
    await refuseUntracked(c.db.read, account, ids)
    const detail = { ...idsForAudit(ids), ...(!fullRead && { full_read: fullRead }) }
    await requestReads(auditedDb(c.db, { who: c.who, action: 'submission.sync', target: account, detail }), account, ids, { fullRead })
    return { account, submissions: ids.length }
  },
})

/** Operations of `submission list|counts|timeline`, and of the routes for unmasked texts and for a sync by `serve`. */
export const operations = [list, counts, timeline, whole, sync]
