import { msFromTime, timeFromMs } from '../../model/time.ts'
import { type DeliveryTime, deliveriesAfter, learnedUpTo, listRhythms, storeRhythms } from '../../store/completeness/rhythm.ts'
import type { Db } from '../../store/engine/db.ts'
import { SELF_DELIVERY_TYPE } from '../../upstream/webhook/delivery.ts'
import { emptyRhythm, learnFrom, type Rhythm, rhythmFrom } from './rhythm.ts'

/** Deliveries per transaction, and transactions per evaluation. */
const STEP = 2_000
const STEPS = 10
/** On Postgres, numbers are assigned before the commit: the newest deliveries may still have gaps. */
const SETTLED_MS = 5_000

/**
 * Learns the rhythm of deliveries from those that came since the last call. What is learned outlives the deliveries.
 * @param token identifies the process that holds the lease.
 * @returns the rhythm of each account that has one.
 * @throws LeaseLostError when another process holds the lease now.
 */
export async function learnRhythms(db: Db, token: string): Promise<ReadonlyMap<string, Rhythm>> {
  const rhythms = new Map(
    (await listRhythms(db.read)).map((row) => [row.account, rhythmFrom(row.learned, row.lastAt === null ? null : msFromTime(row.lastAt))]),
  )
  let upTo = await learnedUpTo(db.read)
  for (let steps = 0; steps < STEPS; steps++) {
    // Not those that `doctor` sends to itself: they do not come from the service.
    const found = await deliveriesAfter(db.read, upTo, STEP, SELF_DELIVERY_TYPE)
    const settled = settledOf(found, db.clock.now())
    const last = settled.at(-1)
    if (last === undefined) break
    upTo = last.inboxId
    const changed = [...Map.groupBy(settled, ({ account }) => account)].map(([account, deliveries]) => {
      const times = deliveries.map(({ receivedAt }) => msFromTime(receivedAt))
      const rhythm = learnFrom(rhythms.get(account) ?? emptyRhythm, times)
      rhythms.set(account, rhythm)
      return { account, lastAt: timeFromMs(rhythm.lastAtMs ?? 0), learned: JSON.stringify(rhythm.pauses) }
    })
    await storeRhythms(db, token, upTo, changed)
    if (settled.length < STEP) break
  }
  return rhythms
}

/** Deliveries before the first recent one. One with a time in the future was stored by a wrong clock, and does not stop the others. */
function settledOf(found: readonly DeliveryTime[], nowMs: number): readonly DeliveryTime[] {
  const young = found.findIndex(({ receivedAt }) => {
    const ageMs = nowMs - msFromTime(receivedAt)
    return ageMs < SETTLED_MS && ageMs > -SETTLED_MS
  })
  return young === -1 ? found : found.slice(0, young)
}
