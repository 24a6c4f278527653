import { z } from 'zod'
import { numberProblem } from './schemas.ts'

/** Pages of the console's lists: `items` and `next_cursor`. */

const MAX_ITEMS = 200
const problem = numberProblem(MAX_ITEMS)

export const pageLimit = z.coerce
  .number(problem)
  .int(problem)
  .min(1, problem)
  .max(MAX_ITEMS, problem)
  .default(50)
  .meta({ description: 'how many at most' })

/** @param read gives the place that a cursor tells of; null for what is none. */
export function cursorTo<T>(read: (text: string) => T | null) {
  return z
    .string()
    .max(4_096)
    .transform((text, context) => {
      const place = read(text)
      if (place !== null) return place
      context.addIssue({ code: 'custom', message: 'is not `next_cursor` of a page' })
      return z.NEVER
    })
    .optional()
    .meta({ description: 'the `next_cursor` of the page before' })
}

/** @param item must have an id of its own, by which the description refers to it. */
export function cursorPageOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    next_cursor: z.string().nullable().meta({ description: 'give it as `cursor` for the next page; null: this is the last' }),
  })
}
