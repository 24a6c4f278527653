import { timeFromMs } from '../../model/time.ts'
import type { Prng } from './prng.ts'
import type { Submission } from './submission.ts'
import type { EventMarket } from './wire.ts'

const TYPES = ['market_attached', 'status_changed', 'quote_received'] as const

/**
 * Fills both feeds of a submission for benchmarks. Each feed gets one item per second. The last item is one second
 * before `endMs` (ms since the epoch).
 */
export function fillFeeds(submission: Submission, prng: Prng, counts: { events: number; messages: number }, endMs: number): void {
  const lanes = Array.from(
    { length: 8 },
    (_, n): EventMarket => ({
      name: `Market ${n + 1}`,
      lines: ['general_liability'],
      lane_id: prng.uuid(),
      category: 'binding',
    }),
  )
  const newId = () => prng.uuid()
  for (let n = 0; n < counts.events; n++) {
    const atMs = endMs - (counts.events - n) * 1_000
    const init = {
      type: prng.pick(TYPES),
      market: prng.pick(lanes),
      occurred_at: timeFromMs(atMs),
      detail: `Step ${n + 1} of ${counts.events}`,
    }
    submission.addEvent(init, newId, atMs)
  }
  for (let n = 0; n < counts.messages; n++) {
    const atMs = endMs - (counts.messages - n) * 1_000
    const init = {
      kind: 'market_plan_update',
      subject: `Update ${n + 1}`,
      body_text: `Update ${n + 1} of ${counts.messages}.`,
      occurred_at: timeFromMs(atMs),
    }
    submission.addMessage(init, newId, atMs)
  }
}
