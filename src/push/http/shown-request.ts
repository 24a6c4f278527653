import type { HttpDestination } from '../../config/config.ts'
import { MASK } from '../../model/masking.ts'
import type { BuiltRequest } from '../contract/delivery.ts'
import type { OpenedDocument } from '../contract/documents.ts'
import type { DocumentMarks } from './document-body.ts'

/** A document that goes along, and what stands for its bytes in a body. */
interface Marked {
  readonly document: OpenedDocument
  readonly marks: DocumentMarks
}

/**
 * @param trusted the only origin that gets the credential; left out: any.
 * @returns the request with a mask instead of the credential, and words instead of the document's bytes.
 */
export function shownRequest(built: BuiltRequest, auth: HttpDestination['auth'], marked: Marked | null, trusted?: string): BuiltRequest {
  const hasAuth = trusted === undefined || new URL(built.url).origin === trusted
  const body = marked === null || built.body === null ? built.body : withoutBytes(built.body, marked)
  return { ...built, headers: { ...built.headers, ...(hasAuth && maskedHeaders(auth)) }, body }
}

function withoutBytes(body: string, { document: { bytes }, marks: { file, base64 } }: Marked): string {
  return body.replaceAll(file, `[document: ${bytes} bytes]`).replaceAll(base64, `[document: ${bytes} bytes in base64]`)
}

function maskedHeaders(auth: HttpDestination['auth']): Readonly<Record<string, string>> {
  if (auth === null) return {}
  if (auth.type === 'header') return { [auth.name.toLowerCase()]: MASK }
  if (auth.type === 'login') return { [auth.header.toLowerCase()]: `${auth.scheme} ${MASK}`.trim() }
  return { authorization: `${auth.type === 'basic' ? 'Basic' : 'Bearer'} ${MASK}` }
}
