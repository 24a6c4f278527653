import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { Webhook } from 'svix'
import { systemClock } from '../../src/base/clock.ts'

export interface Sent {
  /** Deliveries by status; `none` is a broken connection. */
  readonly answers: Readonly<Record<string, number>>
  /** Milliseconds from the due time of a delivery to its answer, sorted. */
  readonly latencies: readonly number[]
}

const BODY = `{"type":"submission.message","text":"${'x'.repeat(2_000)}"}`
const TICK_MS = 10
let deliveries = 0

/**
 * Sends signed deliveries on schedule, independent of the answers: every other one on a connection of its own, the rest on connections
 * that are kept.
 * @param perTick how many each 10 ms.
 */
export async function sendGood(url: string, secret: string, seconds: number, perTick: number): Promise<Sent> {
  const kept = new Agent({ keepAlive: true, maxSockets: 32 })
  const answers: Record<string, number> = {}
  const latencies: number[] = []
  const inFlight: Promise<void>[] = []
  const startedAt = performance.now()
  for (let tick = 0; tick < (seconds * 1_000) / TICK_MS; tick++) {
    const dueAt = startedAt + tick * TICK_MS
    await systemClock.sleep(dueAt - performance.now())
    for (let n = 0; n < perTick; n++) {
      const sent = send(url, secret, n % 2 === 0 ? kept : false).then((answer) => {
        answers[answer] = (answers[answer] ?? 0) + 1
        latencies.push(performance.now() - dueAt)
      })
      inFlight.push(sent)
    }
  }
  await Promise.all(inFlight)
  kept.destroy()
  return { answers, latencies: latencies.sort((a, b) => a - b) }
}

/** @returns the status, or `none`. */
async function send(url: string, secret: string, agent: Agent | false): Promise<string> {
  const id = `msg_good_${deliveries++}`
  const now = new Date()
  const headers = {
    'content-length': BODY.length,
    'svix-id': id,
    'svix-timestamp': String(Math.floor(now.getTime() / 1000)),
    'svix-signature': new Webhook(secret).sign(id, now, BODY),
  }
  const asked = request(url, { method: 'POST', headers, agent })
  asked.end(BODY)
  try {
    const [answer] = await once(asked, 'response')
    answer.resume()
    return String(answer.statusCode)
  } catch {
    return 'none'
  }
}

/** @returns the latency that this share of deliveries didn't exceed. */
export function percentile(latencies: readonly number[], share: number): number {
  return Math.round(latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0)
}
