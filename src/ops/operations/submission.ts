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
import { idsForAudit } from '../actions/context.ts'
import { accountNamed, refuseUnknownNames, refuseUntracked } from '../actions/names.ts'
import { submissionsPage } from '../actions/submissions-page.ts'
import { timelinePage } from '../actions/timeline.ts'
import { record } from '../output/schema.ts'
import {
  accountIn,
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
  summary: 'list submissions with where each stands, the one that moved last first',
  description:
    'With its lanes, its best quote and what is outstanding; what else is asked of one takes its `account` and `submission_id`. ' +
    'Paged by key: a submission that stays in its place is shown once, however many are added meanwhile.',
  role: 'viewer',
  http: 'GET /submissions',
  hasCsv: true,
  tool: 'search_submissions',
  toolFields: { search: 'query' },
  input: z.strictObject({
    search: name
      .optional()
      .describe(
        "what words of the insured's name begin with, the beginning of an id or of a market's name, or the status of a lane; upper or lower case",
      ),
    account: ofAccount,
    market: name.optional().describe("the beginning of a market's name: only submissions with a lane there"),
    status: name.optional().describe('only submissions with a lane of that status'),
    stage: name.optional().describe('only submissions at this stage'),
    sort: z
      .enum(submissionOrders)
      .default('-moved')
      .describe(
        'with `-` the newest, or last, first. By `stage`, `lowest_quote` and `outstanding` up to 5,000 submissions are sorted; narrow a longer list first',
      ),
    ...paging,
  }),
  output: pageOf(submissionItem),
  run: async (c, { sort: order, cursor, ...asked }) => {
    await refuseUnknownNames(c.db.read, c.config, asked)
    const { items, next } = await submissionsPage(c.db.read, { ...asked, order, after: submissionPlace(c, order, cursor) })
    return { items, next_cursor: next && cursorOf([next.account, next.submission_id, next.key]) }
  },
  table: [
    'Submissions',
    [
      ...(['submission_id', 'account', 'insured_name', 'stage'] as const),
      ['lowest quote', (one) => one.best_quote?.premium_display],
      ...(['outstanding_count', 'moved_at', 'oldest_read_at', 'proved_at'] as const),
    ],
    'No submission.',
  ],
})

const counts = operation({
  name: 'submission.counts',
  summary: `count submissions by where they stand, each up to ${MOST_COUNTED}`,
  role: 'viewer',
  http: 'GET /submissions/counts',
  input: z.strictObject({ account: ofAccount }),
  output: pageOf(
    record('SubmissionCount', {
      stage: z.string(),
      count: z.int(),
      is_complete: z.boolean().describe('false: there may be more'),
    }),
  ),
  run: async (c, { account }) => {
    await refuseUnknownNames(c.db.read, c.config, { account })
    const accounts = account === undefined ? await accountsWithSubmissions(c.sums.read) : [account]
    const counted: { stage: string; count: number; is_complete: boolean }[] = []
    for (const stage of [...CHIPS, 'unreachable', 'unknown'])
      counted.push({ stage, ...(await countSubmissions(c.sums.read, accounts, stage, MOST_COUNTED)) })
    return { items: counted, next_cursor: null }
  },
  table: ['Submissions by where they stand', ['stage', 'count', ['more', (one) => (one.is_complete ? null : 'or more')]], 'No submission.'],
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
    kinds: z
      .array(z.enum(timelineKinds))
      .min(1)
      .max(timelineKinds.length)
      .optional()
      .describe(`only these, with commas between: ${timelineKinds.join(', ')}`),
    ...paging,
  }),
  argument: 'submission_id',
  output: pageOf(timelineItem),
} as const

async function readTimeline(
  c: OperationContext,
  { account: of, submission_id: submissionId, cursor, ...asked }: z.output<typeof ofTimeline.input>,
) {
  const account = await accountIn(c, of)
  const { items, next } = await timelinePage(c.db.read, { ...asked, account, submissionId, after: placeOfEntry(cursor) })
  return { items, next_cursor: next && cursorOf([next.at, next.kind, next.id]) }
}

const timeline = operation({
  ...ofTimeline,
  name: 'submission.timeline',
  summary: 'list what happened in a submission, the newest first: events, messages, changes of its state, pushes',
  description:
    'Each with when it happened, how and when it became known, and which destination got it when. Pushes are shown for as long as ' +
    'retention keeps them.',
  role: 'viewer',
  http: 'GET /submissions/:account/:submission_id/timeline',
  tool: 'get_timeline',
  run: readTimeline,
  table: [
    'Timeline, the newest first',
    [
      ...(['at', 'kind', 'what', 'party'] as const),
      ['by', (item) => item.known_via ?? item.destination],
      ['summary', (item) => item.summary ?? item.state],
    ],
    'Nothing has happened.',
  ],
})

const whole = operation({
  ...ofTimeline,
  name: 'submission.texts',
  summary: 'list what happened in a submission with every text whole; who saw it is noted',
  role: 'operator',
  http: 'GET /submissions/:account/:submission_id/texts',
  withoutCommand: '`submission timeline` shows whole texts at the terminal',
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
  summary: 'have submissions read from the service now, feeds and state',
  description:
    'The answer comes at once; the process that polls reads them, feeds from the beginning unless `replay` is false, within the rate of the account. What failed ' +
    'before keeps its time. The view `freshness` tells when each was read.',
  role: 'operator',
  http: 'POST /submissions/sync',
  tool: 'read_now',
  withoutCommand: '`sync` reads them itself, and tells what became of it',
  input: z.strictObject({
    account: inOneAccount,
    ids: z.array(submissionId).min(1).max(MOST_SYNCED),
    replay: z.boolean().default(true).describe('false: the feeds are read on from where they were read to, not from the beginning'),
  }),
  output: record('SyncRequested', { account: z.string(), submissions: z.int().describe('how many will be read') }),
  run: async (c, { account: of, ids: given, replay }) => {
    const { name: account } = accountNamed(c.config, of, c.nameOf('account'))
    const ids = [...new Set(given)]
    await refuseUntracked(c.db.read, account, ids)
    const detail = { ...idsForAudit(ids), ...(!replay && { replay }) }
    await requestReads(auditedDb(c.db, { who: c.who, action: 'submission.sync', target: account, detail }), account, ids, { replay })
    return { account, submissions: ids.length }
  },
})

/** `submission list|timeline`, and what the command `sync` does, asked of the process that serves. */
export const operations = [list, counts, timeline, whole, sync]
