import { z } from 'zod'
import { UsageError } from '../../base/errors.ts'
import type { Json } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import { parseUuid } from '../../model/uuid.ts'
import type { Query } from '../../store/engine/db.ts'
import { listAccounts } from '../../store/reads/accounts.ts'
import { parseMoment } from '../actions/arguments.ts'
import { asOfClocks } from '../actions/as-of.ts'
import { accountNamed } from '../actions/names.ts'
import type { OperationContext } from './operation.ts'

const MOST_ITEMS = 200

/** Maximum characters of an id in a path. */
export const LONGEST_ID = 512
/** Maximum characters of a row key in a path. A row key contains several encoded ids. */
export const LONGEST_KEY = 8_192

export const rowKeySchema = z.string().describe('key for `GET /api/v1/rows/{table}/{key}`: percent-encoded parts joined by `/`')

/** Name of an account or destination, or another short text. */
export const name = z.string().min(1).max(200)

/** A point in time, as text. `momentOf` parses it. */
export const moment = z
  .string()
  .max(40)
  .refine((text) => parseMoment(text, '', 0, []) !== undefined, 'is not a time; give a date, a date-time, or an age such as 2h or 7d')
  .meta({ description: 'a date, a date-time, or an age such as `90s`, `15m`, `2h`, `7d`', examples: ['24h'] })

export function momentOf({ clock }: Pick<OperationContext, 'clock'>, text: string | undefined): TimeText | undefined {
  return parseMoment(text, '', clock.now(), [])
}

/** @returns the input as a filter for the store: times are parsed, and `submission_id` is named `submissionId`. */
export function filterOf<T extends { submission_id?: string | undefined; since?: string | undefined; until?: string | undefined }>(
  c: OperationContext,
  { submission_id: submissionId, since, until, ...others }: T,
) {
  return { ...others, submissionId, since: momentOf(c, since), until: momentOf(c, until) }
}

/** A submission id. Upper case becomes lower case. */
export const submissionId = z
  .string()
  .max(100)
  .refine((text) => parseUuid(text) !== null, 'is not a submission id (a uuid)')
  .overwrite((text) => parseUuid(text) ?? text)
  .meta({ format: 'uuid', description: 'submission id' })

export const ofAccount = name.optional().describe('only this account')
export const ofSubmission = submissionId.optional().describe('only this submission')

/** Fields that limit a list to a period. @param what word for the descriptions, such as `received`. */
export function period(what: string) {
  return {
    since: moment.optional().describe(`only ${what} at or after this time: a date, a date-time, or an age such as \`2h\` or \`7d\``),
    until: moment.optional().describe(`only ${what} before this time`),
  }
}

/** Account of the submissions in a request. If omitted, `accountIn` and `accountNamed` use the default account. */
export const inOneAccount = name.optional().describe('account of the submission; the default account if omitted')

export const oneSubmission = { account: inOneAccount, submission_id: submissionId }

/** Fields for showing a submission at an earlier time. `atMoment` uses them. */
export const atTime = {
  at: moment.optional().describe('show it as it was at this time: a date, a date-time (UTC), or an age such as `7d`'),
  by: z
    .enum(asOfClocks)
    .default('learned')
    .describe('with `at`: `learned` shows what the mirror knew then, `happened` shows events and messages known now that happened by then'),
}

/** @returns `given`; if undefined, the default or the only account. @throws MismatchError if there is neither. */
export async function accountIn(c: OperationContext, given: string | undefined): Promise<string> {
  // If the settings have no accounts, use the accounts in the database.
  const accounts = c.config.accounts.length > 0 ? c.config.accounts : await storedAccounts(c.db.read)
  return given ?? accountNamed({ accounts }, undefined, c.nameOf('account')).name
}

async function storedAccounts(q: Query) {
  return (await listAccounts(q)).map(({ account: stored }) => ({ name: stored, default: false }))
}

/** A whole number from 1 to `most`. */
export function count(most: number) {
  const error = `is not a number from 1 to ${most}`
  return z.int({ error }).min(1, error).max(most, error)
}

/** A svix-id, or an `inbox_id`. */
export const deliveryId = z.string().min(1).max(LONGEST_ID)

export const paging = {
  limit: count(MOST_ITEMS).default(50).describe('maximum number of items in one answer'),
  cursor: z.string().min(1).max(4_096).optional().describe('`next_cursor` of the previous page'),
}

/** Schema of one page of a list. @param item schema of an item; must have an id for the OpenAPI document. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    next_cursor: z.string().nullable().describe('`cursor` of the next page; null on the last page'),
  })
}

/** Values that a cursor encodes. */
type Position = readonly (string | number)[]

/**
 * @param rows at most `limit` + 1 rows. The additional row shows that another page exists.
 * @returns a page of at most `limit` rows, with the cursor of the next page.
 */
export function page<T>(rows: readonly T[], limit: number, positionOf: (last: T) => Position): { items: T[]; next_cursor: string | null } {
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return { items, next_cursor: rows.length > limit && last !== undefined ? cursorOf(positionOf(last)) : null }
}

/** @returns all items as one page, for lists that are always short. */
export function whole<T>(items: readonly T[]): { items: T[]; next_cursor: null } {
  return { items: [...items], next_cursor: null }
}

export function cursorOf(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

/**
 * @returns the number after which the list continues; undefined without a cursor.
 * @throws UsageError if the cursor is invalid.
 */
export function numberIn(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined
  const [number] = placeIn(cursor, ['number'])
  if (Number.isSafeInteger(number) && number >= 1) return number
  throw noCursor()
}

interface Parts {
  readonly string: string
  readonly number: number
}

/**
 * Decodes the values of a cursor.
 * @param kinds expected types of the values.
 * @throws UsageError if the cursor is malformed, or if its values have other types.
 */
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

export function noCursor(): UsageError {
  return new UsageError(['cursor: must be the `next_cursor` of a page of this list'])
}
