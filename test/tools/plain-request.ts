import { type OutgoingHttpHeaders, request } from 'node:http'
import type { GivenAnswer } from './described.ts'

export interface PlainRequest {
  readonly method: string
  /** With the query; it is sent as it is. */
  readonly path: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Buffer | undefined
}

/** Sends a request as it is, which `fetch` would tidy. @param origin with what stands before the path. @throws when no answer comes. */
export function plainRequest(origin: string, { method, path, headers, body }: PlainRequest): Promise<GivenAnswer> {
  const { hostname, port, pathname } = new URL(origin)
  return new Promise((resolve, reject) => {
    // On a connection of its own: the one before may have ended.
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
