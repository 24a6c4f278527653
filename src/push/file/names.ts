import { createHash, randomBytes } from 'node:crypto'
import type { AttachedDocument } from '../contract/documents.ts'

/** Digits of a `seq` in file names. Leading zeros make names sort by `seq`. */
const SEQ_DIGITS = 12
const HASH_DIGITS = 16

/** Facts about a file, for its name and the manifest. */
export interface FileFacts {
  readonly name: string
  readonly rows: number
  readonly bytes: number
  readonly sha256: string
  readonly firstSeq: number
  readonly lastSeq: number
  /** If the file contains the changes of one stream, the stream's account; otherwise null. */
  readonly account: string | null
  readonly submissionId: string | null
}

/** A delivered document, for the manifest. */
export interface DocumentFacts extends Pick<AttachedDocument, 'sha256' | 'account' | 'submissionId' | 'documentKey'> {
  /** null if the document is no longer stored, or is damaged. */
  readonly name: string | null
  readonly bytes: number | null
  readonly outboxId: number
}

/**
 * @returns the name of a file with rows.
 * @param parts the destination. For a file of one stream, also the account and the submission or entity.
 * @param hash hash of the bytes, in hex. The same rows always get the same name.
 */
export function fileName(
  parts: readonly string[],
  { firstSeq, lastSeq }: Pick<FileFacts, 'firstSeq' | 'lastSeq'>,
  hash: string,
  extension: string,
): string {
  const range = [firstSeq, lastSeq].map((seq) => String(seq).padStart(SEQ_DIGITS, '0')).join('-')
  return `${[...parts.map(plain), range, hash.slice(0, HASH_DIGITS)].join('_')}.${extension}`
}

/**
 * @returns the name of the manifest, with the `seq` range of all row files. If there is one row file, the name has this
 * file's hash. If there are several, the name has a hash of their hashes.
 */
export function manifestName(destination: string, files: readonly FileFacts[]): string {
  const [first] = files
  const hash = files.length === 1 && first ? first.sha256 : sha256(files.map((file) => file.sha256).join())
  const range = { firstSeq: Math.min(...files.map((file) => file.firstSeq)), lastSeq: Math.max(...files.map((file) => file.lastSeq)) }
  return fileName([destination], range, hash, 'manifest.json')
}

/** @returns the text of the manifest. The text contains no time, so a repeated delivery makes the same file. */
export function manifestText(destination: string, files: readonly FileFacts[], documents: readonly DocumentFacts[] | null): string {
  const listed = files.map((file) => ({
    name: file.name,
    rows: file.rows,
    bytes: file.bytes,
    sha256: file.sha256,
    first_seq: file.firstSeq,
    last_seq: file.lastSeq,
    ...(file.account === null ? {} : { account: file.account, submission_id: file.submissionId }),
  }))
  const rows = files.reduce((sum, file) => sum + file.rows, 0)
  const attached = documents?.map(({ name, bytes, sha256, account, submissionId, documentKey }) => ({
    name,
    sha256,
    bytes,
    account,
    submission_id: submissionId,
    document_key: documentKey,
  }))
  return `${JSON.stringify({ version: 1, destination, rows, files: listed, ...(attached && { documents: attached }) }, null, 2)}\n`
}

/** @returns the file names in a manifest, in order; null if the text isn't a manifest. */
export function namesListed(text: string): string[] | null {
  try {
    const { files } = JSON.parse(text) as { readonly files: readonly { readonly name: unknown }[] }
    const names = files.map(({ name }) => String(name))
    // Other programs can write to the folder, so a name could point outside of it.
    return names.every((name) => plain(name) === name && !name.startsWith('.')) ? names : null
  } catch {
    return null
  }
}

export function documentName(destination: string, sha256: string, extension: string): string {
  return `${plain(destination)}_document_${sha256}.${extension}`
}

/** @returns a new delivery id, for the names of temporary files. */
export function newDelivery(): string {
  return randomBytes(8).toString('hex')
}

/**
 * @returns the name of a temporary file. The name doesn't match `*.csv`, because readers may watch for this pattern.
 * @param part index in the manifest, or a document's hash. Missing for the manifest.
 */
export function temporaryName(destination: string, delivery: string, part?: number | string): string {
  return `.${destination}~${delivery}${part === undefined ? '' : `-${part}`}.part`
}

/** @returns the delivery id in the name of a temporary file of this destination; null for other files. */
export function deliveryOf(destination: string, name: string): string | null {
  const start = `.${destination}~`
  return name.startsWith(start) ? (/^([0-9a-f]{16})(?:-[0-9a-f]+)?\.part$/.exec(name.slice(start.length))?.[1] ?? null) : null
}

function plain(part: string): string {
  return part.replace(/[^A-Za-z0-9._-]/g, '-')
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
