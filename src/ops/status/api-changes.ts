import { z } from 'zod'
import { surpriseKinds } from '../../model/api-changes.ts'
import type { Query } from '../../store/engine/db.ts'
import { MAX_API_CHANGES, readApiChanges } from '../../store/upkeep/api-changes.ts'
import { record, time } from '../output/schema.ts'

export const apiChange = record('ApiChanges', {
  account: z.string(),
  resource: z.string().describe('the read, or the kind of delivery'),
  path: z.string().describe('names of fields, `[]` for the items of a list, `{}` for a key that is data'),
  kind: z.enum(surpriseKinds).describe('what is undocumented: the field, the vocabulary value or the type; or a missing required field'),
  type: z.string().describe('the actual JSON type; absent for a missing field'),
  first_seen_at: time,
  last_seen_at: time,
  answers: z.int().describe('number of answers and deliveries'),
})

/**
 * @returns the API changes. `full`: accounts with `MAX_API_CHANGES` recorded API changes. The program doesn't record
 * further API changes of these accounts.
 */
export async function apiChanges(q: Query) {
  const rows = await readApiChanges(q)
  // Skip rows with an unknown kind. Such rows are damaged.
  const items = rows.filter(({ kind }) => surpriseKinds.includes(kind))
  const perAccount = Map.groupBy(items, ({ account }) => account)
  const full = [...perAccount].filter(([, own]) => own.length >= MAX_API_CHANGES).map(([account]) => account)
  return { items, full }
}
