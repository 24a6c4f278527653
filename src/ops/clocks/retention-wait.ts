import type { TimeText } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { lastUpkeep } from '../../store/upkeep/upkeep.ts'

/** What to do about a turn that waits. */
export function waitText(waitsFor: string): string {
  return (
    `retention waits: ${waitsFor}; nothing is removed. Put the clock or RETENTION_DAYS right, or let one turn take place with ` +
    '`submission-mirror retention run --confirm`'
  )
}

/** Why the next turn waits, as the database holds it; null when it does not. */
export async function retentionWait(q: Query): Promise<{ readonly since: TimeText; readonly reason: string } | null> {
  const last = await lastUpkeep(q, 'retention')
  return last?.waits_for == null || last.waits_since == null ? null : { since: last.waits_since, reason: last.waits_for }
}
