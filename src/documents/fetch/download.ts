import { PermanentError } from '../../base/errors.ts'
import type { DocumentRow } from '../../model/entities/documents.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import type { DocumentAnswer, TakeDocument } from '../../upstream/http/document.ts'
import type { Elsewhere } from '../../upstream/http/elsewhere.ts'
import { RefusedDocument } from '../storage/errors.ts'
import type { DocumentStorage, StoredDocument } from '../storage/storage.ts'
import { placeOf, promisesPdf } from './place.ts'

export interface Download {
  readonly client: Pick<UpstreamClient, 'document'>
  readonly elsewhere: Pick<Elsewhere, 'get'>
  readonly storage: DocumentStorage
  /** The account's base URL, without a slash at its end. */
  readonly baseUrl: string
  readonly maxBytes: number
}

/** Media types of pages and errors: no document has them. */
const PAGES = new Set(['text/html', 'application/xhtml+xml', 'application/json', 'application/problem+json'])

/**
 * Fetches a document into the storage.
 * @throws errors of the request, RefusedDocument when what came is not the document, StorageUnavailable, the reason of `signal`.
 */
export async function download(o: Download, document: DocumentRow, signal: AbortSignal): Promise<StoredDocument> {
  const place = placeOf(document, o.baseUrl)
  if (place === null) throw new PermanentError('nothing says where it can be fetched')
  const keep: TakeDocument<StoredDocument> = (answer) => keepAnswer(o, document, answer)
  if (place.of === 'elsewhere') return await o.elsewhere.get(place.link, keep, signal)
  const end = await o.client.document(place.place, async (answer) => redirectOf(answer) ?? (await keep(answer)), signal)
  // The token stays behind: what a redirect names is a link like any other.
  return typeof end === 'string' ? await o.elsewhere.get(new URL(end, `${o.baseUrl}/`).href, keep, signal) : end
}

function redirectOf({ status, location }: DocumentAnswer): string | null {
  if (status < 300) return null
  if (location === null) throw new RefusedDocument(`the service answered ${status} without a place to go to`)
  return location
}

async function keepAnswer({ storage, maxBytes }: Download, document: DocumentRow, answer: DocumentAnswer): Promise<StoredDocument> {
  if (PAGES.has(answer.contentType)) throw new RefusedDocument(`the answer is ${answer.contentType}, which is no document`)
  const isPdf = promisesPdf(document) || answer.contentType === 'application/pdf'
  return await storage.keep(answer.body, { maxBytes, bytes: answer.bytes, isPdf })
}
