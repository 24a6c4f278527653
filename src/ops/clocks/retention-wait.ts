import type { TimeText } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { lastUpkeep } from '../../store/upkeep/upkeep.ts'

/** What a turn that waits means. */
export function waitText(waitsFor: string): string {
  return `retention waits: ${waitsFor}; nothing is removed`
}

/** Why the next turn waits, as the database holds it; null when it does not. */
export async function retentionWait(q: Query): Promise<{ readonly since: TimeText; readonly reason: string } | null> {
  const last = await lastUpkeep(q, 'retention')
  return last?.waits_for == null || last.waits_since == null ? null : { since: last.waits_since, reason: last.waits_for }
}
