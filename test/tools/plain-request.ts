import { type OutgoingHttpHeaders, request } from 'node:http'
import type { GivenAnswer } from './described.ts'

export interface PlainRequest {
  readonly method: string
  readonly path: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Buffer | undefined
}

/** Sends a request unchanged, unlike `fetch`. @param origin including a path prefix. @throws without an answer. */
export function plainRequest(origin: string, { method, path, headers, body }: PlainRequest): Promise<GivenAnswer> {
  const { hostname, port, pathname } = new URL(origin)
  return new Promise((resolve, reject) => {
    // A new connection, since the previous one may have ended.
    const sent = request({ hostname, port, method, path: pathname.replace(/\/$/, '') + path, headers, agent: false }, (answer) => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('error', reject)
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, contentType: answer.headers['content-type'] ?? '', body: Buffer.concat(parts) }),
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
