import { randomUUID } from 'node:crypto'
import { Webhook } from 'svix'
import { request } from 'undici'

/** Longer than the service waits: how soon it is answered is tested where nothing else keeps the machine busy. */
const PATIENT_MS = 30_000

/** How a delivery was answered. */
export interface Answered {
  readonly id: string
  readonly status: number
  readonly retryAfter: string | undefined
}

/**
 * Signs and posts one delivery, once.
 * @throws Error when there is no answer.
 */
export async function postSigned(url: string, secret: string, body: string, id = `msg_${randomUUID()}`): Promise<Answered> {
  const now = new Date()
  const answer = await request(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'svix-id': id,
      'svix-timestamp': String(Math.floor(now.getTime() / 1000)),
      'svix-signature': new Webhook(secret).sign(id, now, body),
    },
    body,
    signal: AbortSignal.timeout(PATIENT_MS),
  })
  await answer.body.dump()
  const retryAfter = answer.headers['retry-after']
  return { id, status: answer.statusCode, retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined }
}
