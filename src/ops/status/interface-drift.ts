import { z } from 'zod'
import { surpriseKinds } from '../../model/interface-drift.ts'
import type { Query } from '../../store/engine/db.ts'
import { MOST_DRIFT, readInterfaceDrift } from '../../store/upkeep/interface-drift.ts'
import { record, time } from '../output/schema.ts'

/** Where the service differs from its specification. */
export const driftItem = record('InterfaceDrift', {
  account: z.string(),
  resource: z.string().describe('the read that it was in, or the kind of the delivery'),
  path: z.string().describe('names of fields, `[]` for the items of a list, `{}` for a key that is data'),
  kind: z
    .enum(surpriseKinds)
    .describe('what is not named: the field, the value of a vocabulary, or the type; or that a required field is missing'),
  type: z.string().describe('the JSON type that was seen; absent for a missing field'),
  first_seen_at: time,
  last_seen_at: time,
  answers: z.int().describe('in how many answers and deliveries'),
})

/** `full`: accounts with so many that nothing new is recorded. */
export async function interfaceDrift(q: Query) {
  const rows = await readInterfaceDrift(q)
  // A row that somebody damaged is not told.
  const items = rows.filter(({ kind }) => surpriseKinds.includes(kind))
  const perAccount = Map.groupBy(items, ({ account }) => account)
  const full = [...perAccount].filter(([, own]) => own.length >= MOST_DRIFT).map(([account]) => account)
  return { items, full }
}
