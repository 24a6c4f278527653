import { z } from 'zod'
import { UsageError } from '../../base/errors.ts'
import type { Json } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import { parseUuid } from '../../model/uuid.ts'
import type { Query } from '../../store/engine/db.ts'
import { listAccounts } from '../../store/reads/accounts.ts'
import { parseMoment } from '../actions/arguments.ts'
import { accountNamed, refuseUnknownNames } from '../actions/names.ts'
import type { OperationContext } from './operation.ts'

/** Fields that several operations share. */

const MOST_ITEMS = 200

/** Longest id in a path; ids of deliveries may be this long. */
export const LONGEST_ID = 512
/** Longest key of a row in a path: several ids, each encoded. */
export const LONGEST_KEY = 8_192

/** The key of a row in an answer, by which it can be asked for as it is. */
export const rowKeySchema = z
  .string()
  .describe('its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them')

/** The name of an account or a destination, or another short text. */
export const name = z.string().min(1).max(200)

/** A moment. `momentOf` gives its time. */
export const moment = z
  .string()
  .max(40)
  .refine((text) => parseMoment(text, '', 0, []) !== undefined, 'is no time; give a date, a date-time, or how long ago, like 2h or 7d')
  .meta({ description: 'a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`', examples: ['24h'] })

/** The time of a moment that its schema has validated. */
export function momentOf({ clock }: Pick<OperationContext, 'clock'>, text: string | undefined): TimeText | undefined {
  return parseMoment(text, '', clock.now(), [])
}

/** The filter of a query: its moments are times, the rest stands as it is. */
export function filterOf<T extends { submission_id?: string | undefined; since?: string | undefined; until?: string | undefined }>(
  c: OperationContext,
  { submission_id: submissionId, since, until, ...others }: T,
) {
  return { ...others, submissionId, since: momentOf(c, since), until: momentOf(c, until) }
}

/** A submission id, in lower case. */
export const submissionId = z
  .string()
  .max(100)
  .refine((text) => parseUuid(text) !== null, 'is no submission id (a uuid)')
  .overwrite((text) => parseUuid(text) ?? text)
  .meta({ format: 'uuid', description: 'the id of a submission' })

/** The account of a list's items. */
export const ofAccount = name.optional().describe('only of this account')

/** The submission of a list's items. */
export const ofSubmission = submissionId.optional().describe('only of this submission')

/** From when to when. @param what happened then: `received`. */
export function period(what: string) {
  return {
    since: moment.optional().describe(`only ${what} since: a date, a date-time, or how long ago (\`2h\`, \`7d\`)`),
    until: moment.optional().describe(`only ${what} before`),
  }
}

/** The account of one submission: `accountIn` gives its name. */
const inAccount = name.optional().describe('the account that it belongs to; the default account when left out')

/** One submission, and its account. */
export const oneSubmission = { account: inAccount, submission_id: submissionId }

/** The account of several submissions: `accountNamed` gives its name. */
export const inOneAccount = name.optional().describe('the account that they belong to; the default account when left out')

/** The name of a submission's account. @throws NotFoundError when nobody knows it. */
export async function accountIn(c: OperationContext, given: string | undefined): Promise<string> {
  // Who only looks into the database may have no account in the settings.
  const accounts = c.config.accounts.length > 0 ? c.config.accounts : await storedAccounts(c.db.read)
  const account = given ?? accountNamed({ accounts }, undefined, c.nameOf('account')).name
  await refuseUnknownNames(c.db.read, c.config, { account })
  return account
}

async function storedAccounts(q: Query) {
  return (await listAccounts(q)).map(({ account: stored }) => ({ name: stored, default: false }))
}

/** A whole number from 1 to `most`. */
export function count(most: number) {
  const error = `is no number from 1 to ${most}`
  return z.int({ error }).min(1, error).max(most, error)
}

/** The id of a delivery, as long as any that is kept, or its number. */
export const deliveryId = z.string().min(1).max(512)

/** How many items, and where they go on: fields of each list's input. */
export const paging = {
  limit: count(MOST_ITEMS).default(50).describe('how many at most'),
  cursor: z.string().min(1).max(4_096).optional().describe('the `next_cursor` of the page before'),
}

/** A page of a list. @param item must have an id of its own, by which the OpenAPI document refers to it. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    next_cursor: z.string().nullable().describe('give it as `cursor` for the next page; null: this is the last'),
  })
}

/** A place in a list, as its cursor tells it. */
type Place = readonly (string | number)[]

/** A page of at most `limit` rows. @param rows one more than `limit` when there are further ones. */
export function page<T>(rows: readonly T[], limit: number, placeOf: (last: T) => Place): { items: T[]; next_cursor: string | null } {
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return { items, next_cursor: rows.length > limit && last !== undefined ? cursorOf(placeOf(last)) : null }
}

/** A list in one page: its length follows from what was asked for. */
export function whole<T>(items: readonly T[]): { items: T[]; next_cursor: null } {
  return { items: [...items], next_cursor: null }
}

/** A cursor of a place. */
export function cursorOf(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** The number behind which a list goes on. @throws UsageError for what is no cursor of such a list. */
export function numberIn(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined
  const [number] = placeIn(cursor, ['number'])
  if (Number.isSafeInteger(number) && number >= 1) return number
  throw noCursor()
}

/** What the parts of a place are. */
interface Parts {
  readonly string: string
  readonly number: number
}

/** The place in a cursor. @throws UsageError for one whose parts are of other kinds, or that is no cursor at all. */
export function placeIn<K extends readonly (keyof Parts)[]>(cursor: string, kinds: readonly [...K]): { [I in keyof K]: Parts[K[I]] } {
  const place = parsed(cursor)
  const isRight = (part: unknown, index: number) => typeof part === kinds[index] && !(typeof part === 'string' && part.includes('\0'))
  if (!Array.isArray(place) || place.length !== kinds.length || !place.every(isRight)) throw noCursor()
  return place as never
}

function parsed(cursor: string): Json {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString()) as Json
  } catch {
    return null
  }
}

/** What is said of a text that is no cursor of the list at hand. */
export function noCursor(): UsageError {
  return new UsageError(['cursor: is not `next_cursor` of a page of this list'])
}
