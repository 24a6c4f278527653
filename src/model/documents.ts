import { hash } from 'node:crypto'
import type { DocumentRow } from './entities/documents.ts'
import type { PolicyRow } from './entities/policies.ts'
import type { SourceOfferRow } from './entities/source-offers.ts'
import type { ThreadAttachmentRow } from './entities/thread-attachments.ts'
import { isObject, type Json, parsedJson, storableText } from './json.ts'
import { stableLink } from './links.ts'
import { hasValue } from './merge.ts'
import { parseTime } from './time.ts'
import { parseUuid } from './uuid.ts'

/** The rows of one submission that may name documents. */
export interface DocumentSources {
  readonly attachments: readonly ThreadAttachmentRow[]
  readonly offers: readonly SourceOfferRow[]
  readonly policies: readonly PolicyRow[]
  /** Document ids from any answer about the submission. */
  readonly ids: readonly string[]
}

export type FoundDocument = Pick<
  DocumentRow,
  | 'document_key'
  | 'document_id'
  | 'origin'
  | 'name'
  | 'source'
  | 'source_label'
  | 'content_type'
  | 'created_at'
  | 'download_path'
  | 'document_url'
  | 'size_bytes'
>

/** Limits of a search in an object of unknown shape: nesting depth, and number of documents. */
const MAX_DEPTH = 32
const MAX_FOUND = 1_000

const FINALIZED_DOCUMENT = /(?:^|\/)finalized-documents\/([0-9a-f-]{36})(?:[/?#]|$)/i

/**
 * @param name distinguishes links that differ only in their query: the document's name, or the `presentation_id`
 * of a carrier original.
 * @returns the document's id if `link` is the path of a finalized document. Otherwise one SHA-256, in hex, over
 * `name` and the link without its query and fragment.
 */
export function documentKeyOf(link: string, name: string | null): string {
  const known = parseUuid(FINALIZED_DOCUMENT.exec(link)?.[1])
  return known ?? hash('sha256', name === null ? stableLink(link) : `${stableLink(link)} ${name}`, 'hex')
}

/**
 * Lists all documents of a submission, by `document_key`. The result doesn't depend on the order of the rows.
 * If several rows name the same document, policies take precedence over carrier originals, and carrier originals over
 * attachments. Within one table, the row with the lowest key takes precedence. Other rows only fill missing values.
 */
export function documentsOf({ attachments, offers, policies, ids }: DocumentSources): Map<string, FoundDocument> {
  const found = new Map<string, FoundDocument>()
  const add = (one: FoundDocument | null) => {
    if (one !== null) found.set(one.document_key, filled(found.get(one.document_key), one))
  }
  for (const row of sorted(policies, ({ policy_id }) => policy_id)) for (const one of ofPolicy(row)) add(one)
  for (const row of sorted(offers, (row) => `${row.lane_id} ${row.presentation_id}`)) add(ofOffer(row))
  for (const row of sorted(attachments, (row) => `${row.message_id} ${String(row.position).padStart(10, '0')}`)) add(ofAttachment(row))
  for (const id of [...ids].sort())
    add(found.has(id) ? null : { ...metadataIn({}), document_key: id, document_id: id, origin: 'finalized' })
  return found
}

export function documentKeysOfPolicy(row: Pick<PolicyRow, 'raw'>): string[] {
  return ofPolicy(row).map(({ document_key }) => document_key)
}

function ofAttachment(row: ThreadAttachmentRow): FoundDocument | null {
  if (!hasValue(row.document_key)) return null
  const object = parsedObject(row.raw)
  const about = { name: text(row.name), download_path: text(row.download_path) }
  return { ...metadataIn(object), ...about, document_key: row.document_key, document_id: parseUuid(row.document_key), origin: 'attachment' }
}

function ofOffer(row: SourceOfferRow): FoundDocument | null {
  const link = text(row.document_url)
  if (link === null || link === '') return null
  const document_key = documentKeyOf(link, row.presentation_id)
  const about = { name: text(row.filename) ?? text(row.label), document_url: link, document_id: parseUuid(document_key) }
  return { ...metadataIn(parsedObject(row.raw)), ...about, document_key, origin: 'carrier_original' }
}

/**
 * Finds the documents of a policy. The specification doesn't show the fields of a policy, only that documents have
 * download paths. So any object with a download path or link counts as a document.
 */
function ofPolicy({ raw }: Pick<PolicyRow, 'raw'>): FoundDocument[] {
  const found: FoundDocument[] = []
  const search = (value: unknown, depth: number): void => {
    if (depth > MAX_DEPTH || found.length >= MAX_FOUND) return
    if (Array.isArray(value)) for (const each of value) search(each, depth + 1)
    else if (isObject(value)) {
      const one = metadataIn(value as Record<string, Json>)
      const link = one.download_path ?? one.document_url
      if (link !== null) {
        const document_key = parseUuid(value['document_id']) ?? documentKeyOf(link, one.name)
        found.push({ ...one, document_key, document_id: parseUuid(document_key), origin: 'policy' })
      }
      for (const each of Object.values(value)) search(each, depth + 1)
    }
  }
  search(parsedObject(raw), 0)
  return found
}

/**
 * Reads a document's metadata from an object. Knows the field names of BrokerFinalizedDocument, attachments, and
 * offers.
 */
function metadataIn(object: Record<string, unknown>): Omit<FoundDocument, 'document_key' | 'document_id' | 'origin'> {
  const size = object['size_bytes']
  const of = (key: string) => (typeof object[key] === 'string' && object[key] !== '' ? storableText(object[key]) : null)
  return {
    name: of('display_name') ?? of('name') ?? of('filename') ?? of('label'),
    source: of('source'),
    source_label: of('source_label'),
    content_type: of('content_type'),
    created_at: parseTime(object['created_at']),
    download_path: of('download_path'),
    document_url: of('document_url'),
    size_bytes: typeof size === 'number' && Number.isSafeInteger(size) && size >= 0 ? size : null,
  }
}

function filled(first: FoundDocument | undefined, later: FoundDocument): FoundDocument {
  if (first === undefined) return later
  return Object.fromEntries(
    Object.entries(first).map(([column, value]) => [column, value ?? later[column as keyof FoundDocument]]),
  ) as FoundDocument
}

function sorted<T>(rows: readonly T[], keyOf: (row: T) => string): T[] {
  return rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

function text(value: Json): string | null {
  return typeof value === 'string' ? value : null
}

function parsedObject(raw: string | null): Record<string, unknown> {
  const value = raw === null ? null : parsedJson(raw)
  return isObject(value) ? value : {}
}
