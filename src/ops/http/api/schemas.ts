import { z } from 'zod'
import { name } from '../../operations/inputs.ts'

/** Schemas that several routes share. */

const MAX_PAGE = 500

/** Longest id in a path; ids of deliveries may be this long. */
export const LONGEST_ID = 512
/** Longest key of a row in a path: several ids, each encoded. */
export const LONGEST_KEY = 8_192

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
