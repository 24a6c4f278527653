import { z } from 'zod'
import { surpriseKinds } from '../../model/interface-drift.ts'
import type { Query } from '../../store/engine/db.ts'
import { MOST_DRIFT, readInterfaceDrift } from '../../store/upkeep/interface-drift.ts'
import { table } from '../output/table.ts'
import { ago, printableLine, wrapped } from '../output/text.ts'
import { time } from '../output/time.ts'

/** Where the service differs from its specification. */
export const driftItem = z
  .object({
    account: z.string(),
    resource: z.string().meta({ description: 'the read that it was in, or the kind of the delivery' }),
    path: z.string().meta({ description: 'names of fields, `[]` for the items of a list, `{}` for a key that is data' }),
    kind: z
      .enum(surpriseKinds)
      .meta({ description: 'what is not named: the field, the value of a vocabulary, or the type; or that a required field is missing' }),
    type: z.string().meta({ description: 'the JSON type that was seen; absent for a missing field' }),
    first_seen_at: time,
    last_seen_at: time,
    answers: z.int().meta({ description: 'in how many answers and deliveries' }),
  })
  .meta({ id: 'InterfaceDrift' })

/** `full`: accounts with so many that nothing new is recorded. */
export interface InterfaceDrift {
  readonly items: readonly z.output<typeof driftItem>[]
  readonly full: readonly string[]
}

export async function interfaceDrift(q: Query): Promise<InterfaceDrift> {
  const rows = await readInterfaceDrift(q)
  // A row that somebody damaged is not told.
  const items = rows.filter(({ kind }) => surpriseKinds.includes(kind))
  const perAccount = Map.groupBy(items, ({ account }) => account)
  const full = [...perAccount].filter(([, own]) => own.length >= MOST_DRIFT).map(([account]) => account)
  return { items, full }
}

/** What `status --drift` prints. */
export function driftText({ items, full }: InterfaceDrift, nowMs: number, width: number): string {
  if (items.length === 0) return 'Nothing: whatever was read is as the specification names it.\n'
  const shown = table({
    title: 'Where the service differs from its specification',
    headings: ['account', 'read', 'kind', 'type', 'answers', 'first seen', 'last seen', { heading: 'path', fit: 'below' }],
    rows: items.map((item) => [
      ...[item.account, printableLine(item.resource, 60), item.kind, item.type, item.answers],
      ...[ago(item.first_seen_at, nowMs), ago(item.last_seen_at, nowMs), printableLine(item.path, 200)],
    ]),
    width,
  })
  const notes = full.map((account) => wrapped(`Account ${account} has ${MOST_DRIFT} of them, so nothing new is recorded for it.`, width))
  return [shown, ...notes].join('\n')
}
