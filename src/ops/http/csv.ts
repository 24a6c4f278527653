import { Readable } from 'node:stream'
import { z } from 'zod'
import { csvText } from '../../base/csv-text.ts'
import { masked } from '../operations/hidden.ts'
import type { AnyOperation, OperationContext } from '../operations/operation.ts'
import { textAbout } from './api/answers.ts'
import type { AdminParts, Api } from './api/parts.ts'
import { contextOf } from './from-operation.ts'

/** Rows per page. Larger pages would delay other requests. */
const PAGE = 200

interface Page {
  readonly items: readonly Readonly<Record<string, unknown>>[]
  readonly next_cursor: string | null
}

/**
 * Adds a route that returns all matching rows of a list as CSV. Values are masked as in the list.
 * The field `total_cents` of the object `best_quote` becomes the column `best_quote_total_cents`.
 */
export function addCsv(api: Api, p: AdminParts, op: AnyOperation): void {
  const { limit: _, cursor: __, ...filters } = op.input.shape
  const columns = columnsOf(op.output)
  api.route({
    method: 'GET',
    url: `${op.http.slice('GET '.length)}.csv`,
    config: { role: op.role },
    schema: {
      summary: `${op.summary}: all rows as CSV`,
      tags: [op.name.split('.')[0] ?? ''],
      querystring: z.strictObject(filters),
      response: textAbout('text/csv', 'a header line, then one line per item; object fields as columns, lists as JSON'),
    },
    handler: async (request, reply) => {
      const pages = pagesOf(op, contextOf(p, request), request.query as object)
      // Read the first page before sending anything, so that an error can still set the HTTP status.
      const first = await pages.next()
      const text = async function* () {
        yield csvText(first.done ? [] : first.value, columns, true)
        for await (const rows of pages) yield csvText(rows, columns, false)
      }
      const file = `${op.name.replace('.list', '')}-${new Date(p.clock.now()).toISOString().slice(0, 10)}.csv`
      return reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="${file}"`)
        .send(Readable.from(text()) as unknown as string)
    },
  })
}

async function* pagesOf(op: AnyOperation, context: OperationContext, filters: object) {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    context.signal.throwIfAborted()
    const output = await op.run(context, { ...filters, limit: PAGE, ...(cursor !== undefined && { cursor }) })
    const { items, next_cursor } = masked(op.output, output) as Page
    yield items.map((item) => Object.fromEntries(Object.entries(item).flatMap(([name, value]) => cellsOf(name, value))))
    cursor = next_cursor
  }
}

function columnsOf(output: z.ZodType): string[] {
  const items = (output as z.ZodObject).shape['items'] as z.ZodArray<z.ZodObject>
  return Object.entries<z.ZodType>(items.element.shape).flatMap(([name, field]) => {
    const inner = field instanceof z.ZodNullable ? field.unwrap() : field
    return inner instanceof z.ZodObject ? Object.keys(inner.shape).map((part) => `${name}_${part}`) : [name]
  })
}

/** @returns one cell, or for an object one cell per field. */
function cellsOf(name: string, value: unknown): (readonly [column: string, cell: unknown])[] {
  if (Array.isArray(value)) return [[name, JSON.stringify(value)]]
  if (typeof value !== 'object' || value === null) return [[name, value]]
  return Object.entries(value).map(
    ([part, each]) => [`${name}_${part}`, typeof each === 'object' && each !== null ? JSON.stringify(each) : each] as const,
  )
}
