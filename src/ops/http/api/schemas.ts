import { z } from 'zod'
import { parseUuid } from '../../../model/uuid.ts'
import { parseMoment } from '../../actions/arguments.ts'

/** Schemas that several routes share. */

const MAX_PAGE = 500

/** A time in an answer. */
export const time = z.string().meta({ format: 'date-time', description: 'UTC, with six fractional digits' })

/** A moment in a request. */
export const moment = z
  .string()
  .max(40)
  .refine((text) => parseMoment(text, '', 0, []) !== undefined, 'is no time; give a date, a date-time, or how long ago, like 2h or 7d')
  .meta({ description: 'a date, a date-time, or how long ago: `90s`, `15m`, `2h`, `7d`', examples: ['24h'] })

/** A submission id, converted to lower case. */
export const submissionId = z
  .string()
  .max(100)
  .meta({ format: 'uuid' })
  .transform((text, context) => {
    const id = parseUuid(text)
    if (id !== null) return id
    context.addIssue({ code: 'custom', message: 'is no submission id (a uuid)' })
    return z.NEVER
  })

/** The name of an account or a destination, or another short text. */
export const name = z.string().min(1).max(200)

/** Longest id in a path; ids of deliveries may be this long. */
export const LONGEST_ID = 512
/** Longest key of a row in a path: several ids, each encoded. */
export const LONGEST_KEY = 8_192

/** The id of a delivery, or its number. */
export const deliveryId = z.string().min(1).max(LONGEST_ID)

/** A number in a query. */
function queryNumber(max: number) {
  const problem = numberProblem(max)
  return z.coerce.number(problem).int(problem).min(1, problem).max(max, problem)
}

/** What is said of anything that is no number from 1 on. */
export function numberProblem(max: number): string {
  return `is no number from 1 to ${max}`
}

export const limit = queryNumber(MAX_PAGE).default(50).meta({ description: 'how many at most' })

/** Where a list of numbered things goes on. */
export const afterNumber = queryNumber(Number.MAX_SAFE_INTEGER).optional().meta({ description: 'the `next` of the page before' })

/** A path with a name in it. */
export const named = z.strictObject({ name })

/** A page of a list. @param item must have an id of its own, by which the description refers to it. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    next: z.string().nullable().meta({ description: 'give it as `after` for the next page; null: this is the last' }),
  })
}

/** A page of at most `max` rows. @param rows one more than `max` when there are further ones. */
export function page<T>(rows: readonly T[], max: number, cursorOf: (last: T) => string | number): { items: T[]; next: string | null } {
  const items = rows.slice(0, max)
  const last = items.at(-1)
  return { items, next: rows.length > max && last !== undefined ? String(cursorOf(last)) : null }
}

/** A list in one page: its length follows from the settings. */
export function whole<T>(items: readonly T[]): { items: T[]; next: null } {
  return { items: [...items], next: null }
}
