import type { DocumentRow } from '../../model/entities/documents.ts'
import type { DocumentPlace } from '../../upstream/client.ts'

/** Where a document is fetched from: the service, with the token; another host, without it; or nowhere. */
export type FetchPlace =
  | { readonly of: 'service'; readonly place: DocumentPlace }
  | { readonly of: 'elsewhere'; readonly link: string }
  | null

/**
 * Its own path comes first, then its id, then its link. A link below the base URL belongs to the service, and so does one that names no host:
 * the spec does not say what a `document_url` is relative to.
 */
export function placeOf({ document_id, download_path, document_url }: DocumentRow, baseUrl: string): FetchPlace {
  if (download_path !== null) return { of: 'service', place: { path: download_path } }
  if (document_id !== null && document_url === null) return { of: 'service', place: { id: document_id } }
  if (document_url === null) return null
  if (document_url.startsWith(`${baseUrl}/`)) return { of: 'service', place: { path: document_url.slice(baseUrl.length) } }
  const namesHost = /^[a-z][a-z0-9+.-]*:|^\/\//i.test(document_url)
  return namesHost ? { of: 'elsewhere', link: document_url } : { of: 'service', place: { path: document_url } }
}

/** Whether a PDF is promised: by the path of a finalized document, the media type, or the name. */
export function promisesPdf({ document_id, content_type, name, download_path, document_url }: DocumentRow): boolean {
  const path = (download_path ?? document_url ?? '').split(/[?#]/, 1)[0] ?? ''
  if (content_type !== null) return /^application\/pdf\b/i.test(content_type)
  const isFinalized = download_path === null && document_url === null && document_id !== null
  return isFinalized || /(?:\/pdf|\.pdf)$/i.test(path) || /\.pdf$/i.test(name ?? '')
}
