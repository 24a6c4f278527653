import { randomUUID } from 'node:crypto'
import { Webhook } from 'svix'
import { request } from 'undici'

/** Longer than the service's timeout; other tests check latency. */
const PATIENT_MS = 30_000

export interface Answered {
  readonly id: string
  readonly status: number
  readonly retryAfter: string | undefined
}

/** Signs and posts one delivery. @throws Error without an answer. */
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
