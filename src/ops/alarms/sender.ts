import type { Clock } from '../../base/clock.ts'
import type { ProxySettings } from '../../upstream/http/dispatcher.ts'

export type SendResult =
  /**
   * `remark` lists addresses that the message didn't reach. The log adds `remark` to a sentence. Contains no secrets.
   */
  | { readonly ok: true; readonly remark?: string }
  /** `error` is the cause. The log adds `error` to a sentence. Contains no secrets. */
  | { readonly ok: false; readonly error: string; readonly retryAfterMs?: number }

export interface OperatorSender {
  /**
   * Sends one message. Never rejects: the result contains the error.
   * @param id id of the notice. Retries use the same id.
   * @param body an `AlarmMessage` as JSON text.
   */
  send(id: string, body: string, signal: AbortSignal): Promise<SendResult>
  close(): Promise<void>
}

export interface SenderContext {
  readonly clock: Clock
  readonly proxy: ProxySettings
  /** CA certificates (PEM) that replace the system's certificates for mail servers. Only tests set them. */
  readonly ca?: string
}

export const ATTEMPT_TIMEOUT_MS = 20_000
