import type { Query } from '../engine/db.ts'

/** How many lanes of a destination stand still until somebody does something, by the reason. For people who ask, not for a timer. */
export async function countBlockedLanes(q: Query, destination: string): Promise<{ readonly unmapped: number; readonly held: number }> {
  const rows = await q.sql
    .selectFrom('sync_push_lanes')
    .select((eb) => ['blocked', eb.fn.countAll<number>().as('n')])
    .where('destination', '=', destination)
    .where('blocked', 'is not', null)
    .groupBy('blocked')
    .execute()
  const count = (blocked: 'unmapped' | 'held') => rows.find((row) => row.blocked === blocked)?.n ?? 0
  return { unmapped: count('unmapped'), held: count('held') }
}
