import { PermanentError } from '../../base/errors.ts'
import type { DocumentRow } from '../../model/entities/documents.ts'
import type { DocumentPlace, UpstreamClient } from '../../upstream/client.ts'
import type { DocumentAnswer, TakeDocument } from '../../upstream/http/document.ts'
import type { Elsewhere } from '../../upstream/http/elsewhere.ts'
import { type DocumentStorage, RefusedDocument, type StoredDocument } from '../storage/storage.ts'

export interface Download {
  readonly client: Pick<UpstreamClient, 'document'>
  readonly elsewhere: Pick<Elsewhere, 'get'>
  readonly storage: DocumentStorage
  /** Base URL of the account, without a trailing slash. */
  readonly baseUrl: string
  readonly maxBytes: number
}

/** Media types of web pages and error answers. An answer with such a type is not a document. */
const PAGES = new Set(['text/html', 'application/xhtml+xml', 'application/json', 'application/problem+json'])

/**
 * Downloads a document into the storage.
 * @throws RefusedDocument if the answer isn't the expected document, StorageUnavailable if the storage fails, and
 * errors of the request. If `signal` aborts, throws the signal's reason.
 */
export async function download(o: Download, document: DocumentRow, signal: AbortSignal): Promise<StoredDocument> {
  const place = placeOf(document, o.baseUrl)
  if (place === null) throw new PermanentError('nothing says where it can be fetched')
  const keep: TakeDocument<StoredDocument> = (answer) => keepAnswer(o, document, answer)
  if (place.of === 'elsewhere') return await o.elsewhere.get(place.link, keep, signal)
  const end = await o.client.document(place.place, async (answer) => redirectOf(answer) ?? (await keep(answer)), signal)
  // After a redirect, fetch the target without the token, as for a link to another host.
  return typeof end === 'string' ? await o.elsewhere.get(new URL(end, `${o.baseUrl}/`).href, keep, signal) : end
}

function redirectOf({ status, location }: DocumentAnswer): string | null {
  if (status < 300) return null
  if (location === null) throw new RefusedDocument(`the service answered ${status} without a place to go to`)
  return location
}

async function keepAnswer({ storage, maxBytes }: Download, document: DocumentRow, answer: DocumentAnswer): Promise<StoredDocument> {
  if (PAGES.has(answer.contentType)) throw new RefusedDocument(`the answer is ${answer.contentType}, not a document`)
  const isPdf = promisesPdf(document) || answer.contentType === 'application/pdf'
  return await storage.keep(answer.body, { maxBytes, bytes: answer.bytes, isPdf })
}

/**
 * Where to fetch a document: from the service, with the account's token, or from another host, without the token. Null
 * if the document has no path, link, or id.
 */
type FetchPlace = { readonly of: 'service'; readonly place: DocumentPlace } | { readonly of: 'elsewhere'; readonly link: string } | null

/**
 * Chooses where to fetch a document: its path if it has one, otherwise its link, otherwise its id. A link below the
 * base URL goes to the service. A link without a host also goes to the service, because no other host is known.
 */
function placeOf({ document_id, download_path, document_url }: DocumentRow, baseUrl: string): FetchPlace {
  if (download_path !== null) return { of: 'service', place: { path: download_path } }
  if (document_id !== null && document_url === null) return { of: 'service', place: { id: document_id } }
  if (document_url === null) return null
  if (document_url.startsWith(`${baseUrl}/`)) return { of: 'service', place: { path: document_url.slice(baseUrl.length) } }
  const namesHost = /^[a-z][a-z0-9+.-]*:|^\/\//i.test(document_url)
  return namesHost ? { of: 'elsewhere', link: document_url } : { of: 'service', place: { path: document_url } }
}

/**
 * @returns whether the document should be a PDF. The media type decides. Without a media type, a document that has only
 * an id should be a PDF. For other documents, the end of the path, link, or name decides.
 */
function promisesPdf({ document_id, content_type, name, download_path, document_url }: DocumentRow): boolean {
  const path = (download_path ?? document_url ?? '').split(/[?#]/, 1)[0] ?? ''
  if (content_type !== null) return /^application\/pdf\b/i.test(content_type)
  const isFinalized = download_path === null && document_url === null && document_id !== null
  return isFinalized || /(?:\/pdf|\.pdf)$/i.test(path) || /\.pdf$/i.test(name ?? '')
}
