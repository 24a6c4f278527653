import { z } from 'zod'
import { isObject } from '../../model/json.ts'
import { maskedRow } from '../../model/masking.ts'
import { infoOf } from '../../store/changes/log-info.ts'
import { changesAfter } from '../../store/changes/reader.ts'
import { listOpenItems, listQuotes, type OpenWorkPage, type OpenWorkPlace } from '../../store/mirror/open-work.ts'
import { cursorOf as submissionCursor, placeIn as submissionPlace } from '../../store/mirror/submission-list.ts'
import { timelineCursor, timelineKinds, timelinePlaceIn } from '../../store/mirror/timeline.ts'
import { changeLogEnds } from '../../store/upkeep/gauges.ts'
import { submissionsPage, submissionView } from '../actions/submission-views.ts'
import { timelinePage } from '../actions/timeline.ts'
import { refuseUnknownNames } from '../actions/unknown-names.ts'
import { cursorOf, noCursor, placeIn } from '../operations/inputs.ts'
import { account, anyAccount, anySubmission, cursor, idOf, limit, name, submissionId } from './inputs.ts'
import { type Found, type Tool, tool } from './parts.ts'

const searchSubmissions = tool({
  name: 'search_submissions',
  title: 'Find submissions',
  description:
    "Submissions whose insured's name has words that begin so, or whose id or market's name begins so, with where each stands, its lanes, " +
    'its best quote and what is outstanding. The one that moved last comes first. The other tools take its `account` and `submission_id`.',
  isReading: true,
  input: z.strictObject({
    query: name.describe("words of the insured's name, or the beginning of an id"),
    account: anyAccount,
    limit,
    cursor,
  }),
  run: async (p, given) => {
    await refuseUnknownNames(p.db.read, p.config(), { account: given.account })
    const after = given.cursor === undefined ? undefined : (submissionPlace(given.cursor) ?? null)
    if (after === null) throw noCursor()
    const asked = { search: given.query, account: given.account, order: '-moved', limit: given.limit, after } as const
    const { items, next } = await submissionsPage(p.db.read, asked)
    return { data: items, nextCursor: next && submissionCursor(next) }
  },
})

const getSubmission = tool({
  name: 'get_submission',
  title: 'One submission',
  description:
    'Everything that the mirror holds of a submission but its timeline: lanes, quotes, requirements, what is outstanding, applications, bind ' +
    'requests, documents, how fresh each read is, and the last proof. Of each table at most `limit` rows; `cut` names the tables with more.',
  isReading: true,
  input: z.strictObject({ account, submission_id: submissionId, limit }),
  run: async (p, given) => {
    const view = await submissionView(p.db.read, given.account, idOf(given.submission_id), p.config().destinations)
    const tables = Object.entries(view.tables)
    const cut = tables.filter(([, rows]) => rows.length > given.limit).map(([table]) => table)
    return {
      data: {
        ...view,
        tables: Object.fromEntries(tables.map(([table, rows]) => [table, rows.slice(0, given.limit)])),
        cut: [...new Set([...view.cut, ...cut])],
      },
    }
  },
})

const getTimeline = tool({
  name: 'get_timeline',
  title: 'What happened in a submission',
  description:
    'Events, messages, changes of state and pushes of a submission, the newest first, each with when it happened, how and when it became ' +
    'known, and which destination got it. Bodies of messages are not shown.',
  isReading: true,
  input: z.strictObject({
    account,
    submission_id: submissionId,
    kinds: z.array(z.enum(timelineKinds)).min(1).max(4).optional().describe('only these'),
    limit,
    cursor,
  }),
  run: async (p, given) => {
    const after = given.cursor === undefined ? undefined : timelinePlaceIn(given.cursor)
    if (after === null) throw noCursor()
    const asked = { account: given.account, submissionId: idOf(given.submission_id), kinds: given.kinds, limit: given.limit, after }
    const { items, next } = await timelinePage(p.db.read, asked)
    return { data: items, nextCursor: next && timelineCursor(next) }
  },
})

const ofSubmissions = z.strictObject({ account: anyAccount, submission_id: anySubmission, limit, cursor })

function workFilter(given: z.output<typeof ofSubmissions>) {
  return { account: given.account, submissionId: idOf(given.submission_id) }
}

function workPlace(given: string | undefined): OpenWorkPlace | null {
  if (given === undefined) return null
  const place = placeIn(given, ['string', 'string', 'number'])
  return { account: String(place[0]), submissionId: String(place[1]), skip: Math.max(0, Number(place[2])) }
}

function workFound<T>({ items, next }: OpenWorkPage<T>): Found {
  return { data: items, nextCursor: next && cursorOf([next.account, next.submissionId, next.skip]) }
}

const openItems = tool({
  name: 'list_open_items',
  title: 'What is still missing',
  description:
    'What the broker must still supply: outstanding items, what a market needs, assumptions to confirm and contingencies of a bind, submission ' +
    'by submission. A page may be short; the list ends when `next_cursor` is null.',
  isReading: true,
  input: ofSubmissions,
  run: async (p, given) => {
    await refuseUnknownNames(p.db.read, p.config(), { account: given.account })
    return workFound(await listOpenItems(p.db.read, workFilter(given), workPlace(given.cursor), given.limit))
  },
})

const quotes = tool({
  name: 'list_quotes',
  title: 'Who quoted what',
  description:
    'Quotes that are not gone, submission by submission, of each the lowest first. `total_cents` is the number to compare (US dollars × 100); ' +
    '`premium_display` is only to show. `may_be_superseded` is true when a revision was first seen later, `is_bound_quote` when the lane is bound ' +
    'at this quote; null: it cannot be told. A page may be short; the list ends when `next_cursor` is null.',
  isReading: true,
  input: ofSubmissions,
  run: async (p, given) => {
    await refuseUnknownNames(p.db.read, p.config(), { account: given.account })
    return workFound(await listQuotes(p.db.read, workFilter(given), workPlace(given.cursor), given.limit))
  },
})

const changesSince = tool({
  name: 'changes_since',
  title: 'What changed',
  description:
    'The change log behind a number, in order, without gaps: what changed in which table of which submission. Go on with `last_seq` of the ' +
    'answer; start over when `log_epoch` is another one. Changes before `first_seq` are no longer kept.',
  isReading: true,
  input: z.strictObject({ seq: z.int().min(0).describe('the number of the last change that is known; 0 for the first'), limit }),
  run: async (p, given) => {
    const { read } = p.db
    const { log_epoch } = await infoOf(read)
    const { firstSeq } = await changeLogEnds(read)
    const found = await changesAfter(read, given.seq, given.limit)
    const changes = found.map(({ after, ...change }) => ({ ...change, after: isObject(after) ? maskedRow(change.entity, after) : null }))
    const last_seq = found.at(-1)?.seq ?? given.seq
    return { data: { log_epoch, first_seq: firstSeq, last_seq, is_end: found.length < given.limit, changes } }
  },
})

/** The tools that change nothing. */
export const readingTools: readonly Tool[] = [searchSubmissions, getSubmission, getTimeline, openItems, quotes, changesSince]
