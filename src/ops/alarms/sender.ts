import type { Clock } from '../../base/clock.ts'
import type { ProxySettings } from '../../upstream/http/dispatcher.ts'

export type SendResult =
  /** `remark`: unreached addresses. Ends a sentence and contains no secrets. */
  | { readonly ok: true; readonly remark?: string }
  /** `error`: the cause. Ends a sentence and contains no secrets. */
  | { readonly ok: false; readonly error: string; readonly retryAfterMs?: number }

export interface OperatorSender {
  /**
   * Sends one message. Never rejects.
   * @param id unchanged by retries.
   * @param body an `AlarmMessage` as JSON text.
   */
  send(id: string, body: string, signal: AbortSignal): Promise<SendResult>
  close(): Promise<void>
}

export interface SenderContext {
  readonly clock: Clock
  readonly proxy: ProxySettings
  /** CA certificates (PEM) for mail servers that replace the system's; for tests. */
  readonly ca?: string
}

export const ATTEMPT_TIMEOUT_MS = 20_000
