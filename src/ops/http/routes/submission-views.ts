import { z } from 'zod'
import { cursorOf, placeIn, submissionOrders } from '../../../store/mirror/submission-list.ts'
import { type TimelineKind, timelineCursor, timelineKinds, timelinePlaceIn } from '../../../store/mirror/timeline.ts'
import { submissionsPage, submissionView as viewOf } from '../../actions/submission-views.ts'
import { timelinePage } from '../../actions/timeline.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { name, submissionId } from '../../operations/inputs.ts'
import { answersAbout } from '../api/answers.ts'
import { cursorPageOf, cursorTo, pageLimit } from '../api/cursors.ts'
import type { AdminParts, Api } from '../api/parts.ts'
import { submissionItem, submissionView, timelineItem } from '../api/submission-schemas.ts'

const tags = ['submissions']

const list = {
  summary: 'submissions with where each stands, the one that moved last first',
  description: 'Paged by key: a submission that stays in its place is shown once, however many are added meanwhile.',
  tags,
  querystring: z.strictObject({
    search: name.optional().meta({
      description:
        "what words of the insured's name begin with, the beginning of an id or of a market's name, or the status of a lane; upper or lower case",
    }),
    account: name.optional(),
    market: name.optional().meta({ description: "the beginning of a market's name: submissions with a lane there" }),
    status: name.optional().meta({ description: 'submissions with a lane of that status' }),
    stands: name.optional().meta({ description: 'where it stands, as in the answer' }),
    sort: z.enum(submissionOrders).default('-moved').meta({ description: 'with `-` the newest, or last, first' }),
    limit: pageLimit,
    cursor: cursorTo(placeIn),
  }),
  response: answersAbout('a page of submissions', cursorPageOf(submissionItem)),
}

const params = z.strictObject({ account: name, submission_id: submissionId })

const show = {
  summary: 'everything that the mirror holds of a submission, how fresh it is, and its last proof',
  description: 'Personal values are masked, and the objects of the service left out: `GET /api/v1/rows/{table}/{key}` shows a row whole.',
  tags,
  params,
  response: answersAbout('the submission', submissionView),
}

const kinds = z
  .string()
  .max(100)
  .transform((text, context) => {
    const given = text.split(',').map((kind) => kind.trim())
    if (given.every((kind): kind is TimelineKind => (timelineKinds as readonly string[]).includes(kind))) return given
    context.addIssue({ code: 'custom', message: `is no list of ${timelineKinds.join(', ')}` })
    return z.NEVER
  })
  .optional()
  .meta({ description: 'only these, with commas between: `event`, `message`, `change`, `push`' })

const timeline = {
  summary: 'what happened in a submission, the newest first: events, messages, changes of its state, pushes',
  description:
    'Each with when it happened, how and when it became known, and which destination got it when. Pushes are shown for as long as ' +
    'retention keeps them.',
  tags,
  params,
  querystring: z.strictObject({ kinds, limit: pageLimit, cursor: cursorTo(timelinePlaceIn) }),
  response: answersAbout('a page of the timeline', cursorPageOf(timelineItem)),
}

/** `GET /submissions`, `/submissions/:account/:submission_id`, its `/timeline` */
export function addSubmissionViews(api: Api, p: AdminParts): void {
  api.get('/submissions', { schema: list }, async ({ query }) => {
    const { account, search, market, status, stands, sort, limit, cursor } = query
    await refuseUnknownNames(p.db.read, p.config(), { account })
    const asked = { account, search, market, status, stands, order: sort, limit, after: cursor }
    const { items, next } = await submissionsPage(p.db.read, asked)
    return { items: items.map((item) => ({ ...item, lanes: [...item.lanes] })), next_cursor: next && cursorOf(next) }
  })
  api.get('/submissions/:account/:submission_id', { schema: show }, async ({ params: { account, submission_id } }) => {
    await refuseUnknownNames(p.db.read, p.config(), { account })
    return submissionView.parse(await viewOf(p.db.read, account, submission_id, p.config().destinations))
  })
  api.get('/submissions/:account/:submission_id/timeline', { schema: timeline }, async ({ params: of, query }) => {
    await refuseUnknownNames(p.db.read, p.config(), { account: of.account })
    const { kinds: wanted, limit, cursor } = query
    const asked = { account: of.account, submissionId: of.submission_id, kinds: wanted, limit, after: cursor }
    const { items, next } = await timelinePage(p.db.read, asked)
    return { items: z.array(timelineItem).parse(items), next_cursor: next && timelineCursor(next) }
  })
}
