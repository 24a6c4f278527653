import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Entity, Row } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import { parseTime } from '../../model/time.ts'

/*
 * Which rows the mirror should have of the lists that the service's truth shows. Columns follow from the descriptors: a field of an item is
 * the column of its name. Only where a list stands and what its key is made of is said here, apart from `upstream/`: a misreading there must
 * show.
 */

const item = z.record(z.string(), z.json())
const items = z.array(item)
type Item = z.output<typeof item>

/** What the truth of a requirements view has beside the rail. */
export const readinessTruth = z.object({
  markets: items,
  carrier_api_sessions: items,
  documents_on_file: items,
  assessment: z.looseObject({ programs: items }).nullable(),
})

/** The rows of each table; undefined: the truth shows no such list. */
export type ShownLists = Readonly<Record<string, readonly Row[] | undefined>>

export function shownReadiness(view: z.output<typeof readinessTruth>): ShownLists {
  const programs = view.assessment?.programs
  return {
    market_readiness: numbered(view.markets, 'readiness_key', (market) => market['lane_id'] ?? hashOf(market, 'market_name', 'program')),
    carrier_api_sessions: view.carrier_api_sessions,
    documents_on_file: numbered(view.documents_on_file, 'item_key', (document) => hashOf(document, 'kind', 'display_name')),
    program_assessments: programs?.map((program) => ({ ...program, lane_id: program['submission_market_id'] ?? null })),
    requirement_items: programs?.flatMap(requirementsOf),
  }
}

function requirementsOf(program: Item): Row[] {
  const lane_id = program['submission_market_id'] ?? null
  const all = ['met', 'unmet', 'deferred'].flatMap((result) =>
    items.parse(program[result]).map((one): Item => ({ ...one, lane_id, result })),
  )
  return numbered(all, 'item_key', (one) => one['key'] ?? hashOf(one, 'label'))
}

/** @returns the item's columns in the table: fields that its descriptor has, times as the mirror writes them. */
export function rowOf(entity: Entity, item: Row): Row {
  const known = Object.entries(entity.fields).filter(([column, { local, kind }]) => local !== true && kind !== 'raw' && column in item)
  return Object.fromEntries(
    known.flatMap(([column, { kind, volatile }]): [string, Json][] => {
      const value = item[column] ?? null
      if (volatile) return []
      return [[column, kind === 'time' && typeof value === 'string' ? parseTime(value) : value]]
    }),
  )
}

function numbered(list: readonly Item[], column: string, keyOf: (item: Item) => Json): Row[] {
  const seen = new Map<string, number>()
  return list.map((one) => {
    const key = String(keyOf(one))
    const n = (seen.get(key) ?? 0) + 1
    seen.set(key, n)
    return { ...one, [column]: n === 1 ? key : `${key}#${n}` }
  })
}

function hashOf(of: Item, ...fields: readonly string[]): string {
  const identity = fields.map((field) => of[field] ?? null)
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex')
}
