import { SigningKey } from '../../upstream/webhook/signing-key.ts'

/** @param nowMs start of the attempt, in milliseconds since the epoch. */
export type SignHeaders = (id: string, body: string, nowMs: number) => Readonly<Record<string, string>>

/**
 * Signs as defined by Standard Webhooks, with each secret. The receiver can then rotate secrets.
 * @param secrets `whsec_…`, or base64 without this prefix.
 */
export function signedHeaders(secrets: readonly { reveal(): string }[]): SignHeaders {
  const keys = secrets.map((secret) => new SigningKey(secret.reveal()))
  return (id, body, nowMs) => {
    const at = new Date(nowMs)
    return {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(nowMs / 1000)),
      'webhook-signature': keys.map((key) => key.sign(id, at, body)).join(' '),
    }
  }
}
