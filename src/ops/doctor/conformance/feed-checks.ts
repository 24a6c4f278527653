import { eventsPageSchema } from '../../../client/schemas/events.ts'
import { threadPageSchema } from '../../../client/schemas/thread.ts'
import { isObject } from '../../../model/json.ts'
import { count, type Desk, refusalOf, refusedAs } from './desk.ts'
import type { Answer, ComparedService } from './service.ts'
import { agrees, type Compared, compare, differs, judged, together, untold, type Verdict } from './verdict.ts'

interface FeedRow {
  readonly name: 'events' | 'thread'
  readonly list: 'events' | 'messages'
  readonly schema: typeof eventsPageSchema | typeof threadPageSchema
  readonly most: number
}

const EVENTS: FeedRow = { name: 'events', list: 'events', schema: eventsPageSchema, most: 100 }
const THREAD: FeedRow = { name: 'thread', list: 'messages', schema: threadPageSchema, most: 200 }
const DEFAULT_LIMIT = 50
/** Pages of one feed that are walked; its end may lie further. */
const MOST_PAGES = 10

/** The rows of both feeds. */
export const feedChecks: Readonly<Record<string, (desk: Desk) => Promise<Verdict>>> = {
  'endpoint.getEvents': (desk) => walks(desk, EVENTS),
  'endpoint.getThread': (desk) => walks(desk, THREAD),
  'error.cursor': badCursor,
  'limit.events': (desk) => limits(desk, EVENTS),
  'limit.thread': (desk) => limits(desk, THREAD),
}

interface Walk extends Compared {
  readonly items: number
  readonly isWhole: boolean
}

async function walks(desk: Desk, feed: FeedRow): Promise<Verdict> {
  const done: Walk[] = []
  for (const id of await desk.submissions()) {
    const walk = await walked(desk.service, feed, id)
    if (typeof walk === 'string') return differs(walk)
    if (walk !== null) done.push(walk)
  }
  if (done.length === 0) return untold('answered 404 for the submissions that are known here')
  const items = done.reduce((sum, walk) => sum + walk.items, 0)
  const whole = done.filter(({ isWhole }) => isWhole).length
  const end = whole > 0 ? `${whole} to the end, which is a null cursor` : 'none to its end'
  return judged(together(done), `${count(done.length, 'feed')} with ${count(items, 'item')} read, ${end}`)
}

/** @returns null when there is no such submission, a sentence when the service refuses. */
async function walked(service: ComparedService, feed: FeedRow, id: string): Promise<Walk | string | null> {
  const compared: Compared[] = []
  const seen = new Set<unknown>()
  const problems: string[] = []
  let items = 0
  let since: string | null = null
  for (let page = 0; page < MOST_PAGES; page++) {
    // Small pages, so that a short feed has several.
    const answer: Answer = await service.get(pathOf(feed, id), { limit: '10', ...(since !== null && { since }) })
    if (answer.status === 404 && page === 0) return null
    const refused = refusalOf(answer)
    if (refused !== null) return page === 0 ? refused : `with its own cursor ${refused}`
    compared.push(compare(feed.schema, answer.json))
    const { list, next } = pageIn(feed, answer)
    for (const item of list) {
      const key = isObject(item) ? item['id'] : null
      if (seen.has(key)) problems.push('an item came twice behind a cursor')
      seen.add(key)
    }
    items += list.length
    if (next === null) return { ...together([...compared, { problems, more: [] }]), items, isWhole: true }
    if (next === since) return { ...together(compared), items, isWhole: false }
    since = next
  }
  return { ...together([...compared, { problems, more: [] }]), items, isWhole: false }
}

async function badCursor(desk: Desk): Promise<Verdict> {
  const answers: Answer[] = []
  for (const id of await desk.submissions()) {
    if ((await desk.service.get(pathOf(EVENTS, id), {})).status === 404) continue
    for (const feed of [EVENTS, THREAD]) answers.push(await desk.service.get(pathOf(feed, id), { since: 'no-cursor-of-this-service' }))
    break
  }
  return answers.length === 0 ? untold('answered 404 for the submissions that are known here') : refusedAs(answers, 'an invalid cursor')
}

async function limits(desk: Desk, feed: FeedRow): Promise<Verdict> {
  const problems: string[] = []
  let longest = 0
  for (const id of await desk.submissions()) {
    const read = async (limit: string | null) => await desk.service.get(pathOf(feed, id), limit === null ? {} : { limit })
    const plain = await read(null)
    if (plain.status === 404) continue
    const asked = [
      { limit: 'no limit', most: DEFAULT_LIMIT, answer: plain },
      { limit: 'limit=0', most: 1, answer: await read('0') },
      { limit: 'limit=1', most: 1, answer: await read('1') },
      { limit: 'limit=1000', most: feed.most, answer: await read('1000') },
    ]
    for (const { limit, most, answer } of asked) {
      const items = pageIn(feed, answer).list.length
      longest = Math.max(longest, items)
      if (answer.status !== 200) problems.push(`${limit} was answered ${answer.status}, not clamped`)
      else if (items > most) problems.push(`${limit} gave ${items} items, more than ${most}`)
    }
  }
  if (problems.length > 0) return judged({ problems: [...new Set(problems)], more: [] }, '')
  if (longest === 0) return untold('no feed that is looked at has an item')
  const seen = longest > DEFAULT_LIMIT ? '' : `, as far as a page of ${count(longest, 'item')} can show`
  return agrees(`no page is longer than its limit, 0 and 1000 are clamped${seen}`)
}

function pathOf(feed: FeedRow, id: string): string {
  return `/broker/submissions/${id}/${feed.name}`
}

function pageIn(feed: FeedRow, { json }: Answer): { readonly list: readonly unknown[]; readonly next: string | null } {
  const { [feed.list]: list, next_cursor: next } = isObject(json) ? json : {}
  return { list: Array.isArray(list) ? list : [], next: typeof next === 'string' && next !== '' ? next : null }
}
