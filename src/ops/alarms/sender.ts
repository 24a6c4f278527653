import type { Clock } from '../../base/clock.ts'
import type { ProxySettings } from '../../upstream/http/dispatcher.ts'

/** How a try to tell an operator ended. */
export type SendResult =
  /** `remark`: what was not reached all the same, as the end of a sentence, without secrets. */
  | { readonly ok: true; readonly remark?: string }
  /** `error`: what went wrong, as the end of a sentence, without secrets. */
  | { readonly ok: false; readonly error: string; readonly retryAfterMs?: number }

/** The way to one operator. */
export interface OperatorSender {
  /**
   * Tells one thing. Never rejects.
   * @param id the same on every try.
   * @param body an `AlarmMessage` as JSON text.
   */
  send(id: string, body: string, signal: AbortSignal): Promise<SendResult>
  close(): Promise<void>
}

export interface SenderContext {
  readonly clock: Clock
  readonly proxy: ProxySettings
  /** Certificates (PEM) that a mail server's is verified by in place of the usual ones; for tests, which have one of their own. */
  readonly ca?: string
}

/** The longest that one try may take. */
export const ATTEMPT_TIMEOUT_MS = 20_000
