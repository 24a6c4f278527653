import { randomUUID } from 'node:crypto'
import { Webhook } from 'svix'
import { request } from 'undici'
import { abortable, limitedTo } from '../../base/abortable.ts'
import type { Clock } from '../../base/clock.ts'
import type { SecretText } from '../../base/secret.ts'
import { parsedJson } from '../../model/json.ts'
import { createDispatcher, type ProxySettings } from '../http/dispatcher.ts'
import { codeOf } from '../http/http.ts'
import { ARRIVAL_HEADER, type Arrival, arrival, SELF_DELIVERY_PREFIX, SELF_DELIVERY_TYPE } from './delivery.ts'

/** The outcome of a self delivery. */
export type SelfDelivery =
  | {
      readonly type: 'answered'
      readonly id: string
      readonly status: number
      /** Null if the header `ARRIVAL_HEADER` of the answer is missing or malformed. */
      readonly arrival: Arrival | null
    }
  /** `code` is an error code, such as ECONNREFUSED. */
  | { readonly type: 'unanswered'; readonly code: string }

const ANSWER_WITHIN_MS = 10_000

/**
 * Posts one signed self delivery in the format of the service. Doesn't follow redirects. The worker of the receiving
 * program later ignores the delivery and removes its body.
 * @param bytes minimum length of the body.
 * @throws the reason of `signal` when it aborts.
 */
export async function sendSelfDelivery(
  url: string,
  secret: SecretText,
  {
    bytes = 0,
    proxy,
    clock,
    signal,
  }: { readonly bytes?: number; readonly proxy: ProxySettings; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<SelfDelivery> {
  const id = `${SELF_DELIVERY_PREFIX}${randomUUID()}`
  const now = new Date(clock.now())
  const body = JSON.stringify({ type: SELF_DELIVERY_TYPE, id, sent_at: now.toISOString(), filler: '-'.repeat(bytes) })
  const dispatcher = createDispatcher(proxy, { connectTimeout: ANSWER_WITHIN_MS })
  const aborted = limitedTo(ANSWER_WITHIN_MS, signal)
  try {
    const sent = request(url, {
      method: 'POST',
      dispatcher,
      headers: {
        'content-type': 'application/json',
        'svix-id': id,
        'svix-timestamp': String(Math.floor(now.getTime() / 1000)),
        'svix-signature': new Webhook(secret.reveal()).sign(id, now, body),
      },
      body,
      signal: aborted,
    })
    // Without `abortable`, undici ignores the signal until it has a connection.
    const answer = await abortable(sent, aborted)
    await answer.body.dump().catch(() => undefined)
    return { type: 'answered', id, status: answer.statusCode, arrival: readArrival(answer.headers[ARRIVAL_HEADER]) }
  } catch (error) {
    signal.throwIfAborted()
    return { type: 'unanswered', code: codeOf(error) }
  } finally {
    await dispatcher.destroy()
  }
}

function readArrival(header: string | string[] | undefined): Arrival | null {
  if (typeof header !== 'string') return null
  return arrival.safeParse(parsedJson(header)).data ?? null
}
