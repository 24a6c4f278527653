import type { Clock } from '../../base/clock.ts'
import type { ProxySettings } from '../../upstream/http/dispatcher.ts'

export type SendResult =
  /** `remark`: unreached addresses, as the end of a sentence, without secrets. */
  | { readonly ok: true; readonly remark?: string }
  /** `error`: what went wrong, as the end of a sentence, without secrets. */
  | { readonly ok: false; readonly error: string; readonly retryAfterMs?: number }

export interface OperatorSender {
  /**
   * Sends one message. Never rejects.
   * @param id the same on every attempt.
   * @param body an `AlarmMessage` as JSON text.
   */
  send(id: string, body: string, signal: AbortSignal): Promise<SendResult>
  close(): Promise<void>
}

export interface SenderContext {
  readonly clock: Clock
  readonly proxy: ProxySettings
  /** Certificates (PEM) that verify a mail server, instead of the usual ones; for tests. */
  readonly ca?: string
}

export const ATTEMPT_TIMEOUT_MS = 20_000
