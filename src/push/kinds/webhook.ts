import { randomUUID } from 'node:crypto'
import type { WebhookDestination } from '../../config/config.ts'
import { changeMessage } from '../contract/change-message.ts'
import { type DeliveryKind, type KindContext, type Outcome, type ProbeResult, TEST_TYPE } from '../contract/delivery.ts'
import { answered, isSuccess, refused, unanswered } from '../contract/outcomes.ts'
import { signedHeaders } from '../transport/signed-headers.ts'
import { openTransport, type Transport, type TransportResult } from '../transport/transport.ts'

/**
 * Makes a kind for Standard Webhooks: one change per request, signed with each of the destination's secrets. Every
 * attempt has the same id and body, but another timestamp and signature.
 */
export function createWebhook(destination: WebhookDestination, context: KindContext): DeliveryKind {
  const { url, timeoutMs, idempotent } = destination
  const { clock } = context
  const transport = openTransport(destination, context.proxy, { clock })
  const sign = signedHeaders(destination.secrets)
  const send = (id: string, body: string, signal: AbortSignal): ReturnType<Transport['send']> => {
    const headers = sign(id, body, clock.now())
    return transport.send({ method: 'POST', url, headers, body, timeoutMs }, signal)
  }
  return {
    batch: { type: 'one' },
    withoutSubmission: true,
    async send(items, signal) {
      const outcomes: Outcome[] = []
      for (const item of items) outcomes.push(outcomeOf(await send(item.messageId, changeMessage(item), signal), idempotent))
      return outcomes
    },
    async preview(item) {
      const body = changeMessage(item)
      return { method: 'POST', url, headers: sign(item.messageId, body, clock.now()), body }
    },
    async probe(signal) {
      const timestamp = new Date(clock.now()).toISOString()
      const body = JSON.stringify({ type: TEST_TYPE, timestamp, data: { destination: destination.name } })
      return probed(await send(randomUUID(), body, signal))
    },
    async close() {
      await transport.close()
    },
  }
}

function outcomeOf(result: TransportResult, idempotent: boolean): Outcome {
  if (result.type !== 'answer') return unanswered(result)
  const { status } = result
  if (isSuccess(status)) return { type: 'delivered', status, remoteId: null, detail: null }
  return refused(result, idempotent)
}

function probed(result: TransportResult): ProbeResult {
  if (result.type !== 'answer') return { ok: false, text: `cannot be reached: ${result.error}` }
  const { status } = result
  if (isSuccess(status)) return { ok: true, text: `accepted a signed message of type ${TEST_TYPE} (status ${status})` }
  const what = answered(result)
  if (status === 401 || status === 403) return { ok: false, text: `${what}; compare the signing secret on both sides` }
  if (status === 404 || status === 410) return { ok: false, text: `${what}; compare the URL with the one that the receiver shows` }
  if (status < 400) return { ok: false, text: `${what}; set url to the redirect target` }
  return { ok: false, text: `${what}; check the log of the receiver` }
}
