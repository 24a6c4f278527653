import type { WebhookOperator } from '../../config/config.ts'
import { answered, isSuccess } from '../../push/contract/outcomes.ts'
import { signedHeaders } from '../../push/transport/signed-headers.ts'
import { openTransport } from '../../push/transport/transport.ts'
import { ATTEMPT_TIMEOUT_MS, type OperatorSender, type SenderContext, type SendResult } from './sender.ts'

/**
 * Sends alarms as Standard Webhooks, in the same way as changes to a webhook destination.
 * Requests are signed, TLS is verified, and redirects are not followed.
 */
export function createWebhookSender(operator: WebhookOperator, { clock, proxy }: SenderContext): OperatorSender {
  const { url, allowPrivate } = operator
  const transport = openTransport({ allowPrivate, allowHosts: null, idempotent: true, concurrency: 1 }, proxy, { clock })
  const sign = signedHeaders([operator.secret])
  return {
    async send(id, body, signal): Promise<SendResult> {
      const headers = sign(id, body, clock.now())
      const result = await transport.send({ method: 'POST', url, headers, body, timeoutMs: ATTEMPT_TIMEOUT_MS }, signal)
      if (result.type !== 'answer') return { ok: false, error: `the recipient cannot be reached: ${result.error}` }
      const { status, retryAfterMs } = result
      if (isSuccess(status)) return { ok: true }
      return { ok: false, error: `the recipient ${answered(result)}${hintOf(status)}`, ...(retryAfterMs !== null && { retryAfterMs }) }
    },
    async close() {
      await transport.close()
    },
  }
}

function hintOf(status: number): string {
  if (status === 401 || status === 403) return '; check that both sides use the same signing secret'
  if (status >= 300 && status < 400) return '; set url to the redirect target'
  return status === 404 || status === 410 ? '; check the URL' : ''
}
