import { randomUUID } from 'node:crypto'
import { Webhook } from 'svix'
import { request } from 'undici'
import { abortable, limitedTo } from '../../base/abortable.ts'
import type { Clock } from '../../base/clock.ts'
import type { SecretText } from '../../base/secret.ts'
import { createDispatcher, type ProxySettings } from '../http/dispatcher.ts'
import { codeOf } from '../http/http.ts'
import { SELF_DELIVERY_TYPE } from './delivery.ts'

/** The outcome of a delivery that the program sent to itself. */
export type SelfDelivery =
  | { readonly type: 'answered'; readonly id: string; readonly status: number }
  /** `code`: for example ECONNREFUSED or CERT_HAS_EXPIRED. */
  | { readonly type: 'unanswered'; readonly code: string }

/** As long as the service waits. */
const ANSWER_WITHIN_MS = 10_000

/**
 * Posts one signed delivery as the service would, without following redirects. Its type marks it as a self delivery, so the worker ignores
 * its content.
 * @throws the reason of `signal` when it aborts.
 */
export async function sendSelfDelivery(
  url: string,
  secret: SecretText,
  { proxy, clock, signal }: { readonly proxy: ProxySettings; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<SelfDelivery> {
  const id = `doctor_${randomUUID()}`
  const now = new Date(clock.now())
  const body = JSON.stringify({ type: SELF_DELIVERY_TYPE, id, sent_at: now.toISOString() })
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
    // undici ignores the signal until the request has a connection.
    const answer = await abortable(sent, aborted)
    await answer.body.dump().catch(() => undefined)
    return { type: 'answered', id, status: answer.statusCode }
  } catch (error) {
    signal.throwIfAborted()
    return { type: 'unanswered', code: codeOf(error) }
  } finally {
    await dispatcher.destroy()
  }
}
