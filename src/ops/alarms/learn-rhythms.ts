import { msFromTime, timeFromMs } from '../../model/time.ts'
import { type DeliveryTime, deliveriesAfter, learnedUpTo, listRhythms, storeRhythms } from '../../store/completeness/rhythm.ts'
import type { Db } from '../../store/engine/db.ts'
import { SELF_DELIVERY_TYPE } from '../../upstream/webhook/delivery.ts'
import { emptyRhythm, learnFrom, type Rhythm, rhythmFrom } from './rhythm.ts'

/** Deliveries learned from in one transaction, and transactions in one look. */
const STEP = 2_000
const STEPS = 10
/** On Postgres numbers are given out before they are committed: what came just now may still have gaps. */
const SETTLED_MS = 5_000

/**
 * Learns from the deliveries that came since the last time; what is learned outlives the deliveries.
 * @param token names the process that watches.
 * @returns how deliveries come, by account.
 * @throws LeaseLostError when another process watches now.
 */
export async function learnRhythms(db: Db, token: string): Promise<ReadonlyMap<string, Rhythm>> {
  const rhythms = new Map(
    (await listRhythms(db.read)).map((row) => [row.account, rhythmFrom(row.learned, row.lastAt === null ? null : msFromTime(row.lastAt))]),
  )
  let upTo = await learnedUpTo(db.read)
  for (let steps = 0; steps < STEPS; steps++) {
    // What `doctor` sends says nothing of whether the service does.
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

/** Those before the first that came just now. One that lies ahead was stored by a wrong clock, and holds up nothing. */
function settledOf(found: readonly DeliveryTime[], nowMs: number): readonly DeliveryTime[] {
  const young = found.findIndex(({ receivedAt }) => {
    const ageMs = nowMs - msFromTime(receivedAt)
    return ageMs < SETTLED_MS && ageMs > -SETTLED_MS
  })
  return young === -1 ? found : found.slice(0, young)
}
