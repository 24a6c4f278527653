import { UnexpectedAnswer } from '../errors.ts'
import type { Channel } from '../http/channel.ts'
import { downloadPathOf, pathOf } from '../http/paths.ts'

export interface Download {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>
  readonly contentType: string | null
  /** Size in bytes; null if the service sends no length or compresses the body. */
  readonly sizeBytes: number | null
}

/**
 * Downloads a document.
 * @param path path relative to the base URL.
 */
export async function download(channel: Channel, path: string): Promise<Download> {
  const answer = await channel.send({
    method: 'GET',
    path: downloadPathOf(path),
    headers: { accept: 'application/pdf, */*' },
    retry: 'idempotent',
  })
  if (answer.body === null) throw new UnexpectedAnswer(`${path} was answered ${answer.status} without a body`)
  // The length of a compressed body isn't the length of the document.
  const size = answer.headers.has('content-encoding') ? Number.NaN : Number(answer.headers.get('content-length') ?? Number.NaN)
  return { stream: answer.body, contentType: answer.headers.get('content-type'), sizeBytes: Number.isNaN(size) ? null : size }
}

export function pdf(channel: Channel, documentId: string): Promise<Download> {
  return download(channel, pathOf`/broker/finalized-documents/${documentId}/pdf`)
}
