import type { ConditionName } from '../../client/openapi/conditions.ts'
import { timeFromMs } from '../../model/time.ts'
import type { StoredDocument } from '../world/records.ts'
import type { Submission } from '../world/submission.ts'
import { invalid, Refusal } from './refusal.ts'

export interface UploadedFile {
  /** Name of the form field; undefined if the file came without a form. */
  readonly field?: string
  readonly name: string
  readonly contentType: string
  readonly bytes: Buffer
}

const MAX_FILE_BYTES = 25 * 1024 * 1024

/**
 * @param isLimited whether the limit of 25 MB applies.
 * @throws Refusal if the file is empty or too large.
 */
export function checkFile(file: UploadedFile, isLimited = true): void {
  if (file.bytes.length === 0) throw invalid(['body', 'file'], 'The file is empty', 'value_error', 'empty_file')
  if (isLimited && file.bytes.length > MAX_FILE_BYTES) throw new Refusal('file_too_large', 'The file has more than 25 MB')
}

/** @throws Refusal if the file isn't a PDF. */
export function checkPdf(file: UploadedFile): void {
  // PDF readers accept a header within the first 1,024 bytes.
  if (!file.bytes.subarray(0, 1_024).includes('%PDF-')) throw invalid(['body', 'file'], 'The file is no PDF')
}

export function requireFile(files: readonly UploadedFile[], condition?: ConditionName): UploadedFile {
  const [file] = files
  if (!file) throw invalid(['body', 'file'], 'Field required', 'missing', condition)
  return file
}

/** Stores a file as a finalized document, and adds it to `documents_on_file`. */
export function storeDocument(
  submission: Submission,
  file: UploadedFile,
  about: { readonly id?: string; readonly displayName?: string | undefined; readonly source?: string; readonly kind?: string },
  atMs: number,
): StoredDocument {
  const displayName = about.displayName ?? file.name
  const kind = about.kind ?? (/loss.?run/i.test(displayName) ? 'loss_runs' : 'other')
  const source = about.source ?? 'broker_upload'
  const document: StoredDocument = {
    id: about.id ?? submission.newId(),
    source,
    sourceLabel: sourceLabels[source] ?? source,
    displayName,
    contentType: file.contentType,
    createdAtMs: atMs,
    kind,
    kindLabel: kindLabels[kind] ?? 'Document',
    bytes: file.bytes.toString('base64'),
  }
  submission.records.documents.push(document)
  const onFile = { kind, kind_label: document.kindLabel, display_name: displayName }
  submission.facts = { ...submission.facts, documents_on_file: [...submission.facts.documents_on_file, onFile] }
  return document
}

const sourceLabels: Readonly<Record<string, string>> = {
  broker_upload: 'Uploaded by the broker',
  form_fill: 'Filled form',
  bind: 'Bind request',
  carrier: 'Carrier',
}
const kindLabels: Readonly<Record<string, string>> = { loss_runs: 'Loss runs', form: 'Form', signed_form: 'Signed form', policy: 'Policy' }

/** @returns a "BrokerFinalizedDocument" of the specification. */
export function documentView(document: StoredDocument) {
  return {
    id: document.id,
    source: document.source,
    source_label: document.sourceLabel,
    display_name: document.displayName,
    size_bytes: Buffer.byteLength(document.bytes, 'base64'),
    content_type: document.contentType,
    created_at: timeFromMs(document.createdAtMs),
    download_path: `/broker/finalized-documents/${document.id}/pdf`,
  }
}
