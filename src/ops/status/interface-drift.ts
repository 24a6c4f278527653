import { surpriseKinds } from '../../model/interface-drift.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { MOST_DRIFT, readInterfaceDrift } from '../../store/upkeep/interface-drift.ts'
import { table } from '../output/table.ts'
import { ago, printableLine, wrapped } from '../output/text.ts'

/** What `status --drift --json` prints. Its names stay. */
export interface InterfaceDrift {
  readonly items: readonly DriftItem[]
  /** Accounts with so many that nothing new is recorded. */
  readonly full: readonly string[]
}

export interface DriftItem {
  readonly account: string
  /** The read that it was in, or the kind of the delivery. */
  readonly resource: string
  readonly path: string
  readonly kind: (typeof surpriseKinds)[number]
  readonly type: string
  readonly first_seen_at: TimeText
  readonly last_seen_at: TimeText
  /** In how many answers and deliveries. */
  readonly answers: number
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
