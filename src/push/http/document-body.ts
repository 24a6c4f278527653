import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { PermanentError } from '../../base/errors.ts'
import type { Json } from '../../model/json.ts'
import type { AttachedDocument, OpenedDocument } from '../contract/documents.ts'

/**
 * Placeholders for a document's bytes, which expressions never see. An expression puts a mark into its value. In the
 * sent body, the document's bytes replace the mark. Marks are random, so the values of a change never contain a mark.
 */
export interface DocumentMarks {
  /** The document's bytes replace this mark. */
  readonly file: string
  /** The document's bytes in base64 replace this mark. */
  readonly base64: string
}

export interface StreamedBody {
  readonly bytes: number
  /** Opens a new stream. Each attempt needs its own stream. */
  open(): Readable
}

export function newMarks(): DocumentMarks {
  return { file: `document-file-${randomUUID()}`, base64: `document-base64-${randomUUID()}` }
}

/**
 * @param isNamed whether the document's name, which is personal data, may be sent.
 * @returns the `document` that expressions see.
 */
export function documentView(
  { sha256, documentKey }: AttachedDocument,
  { bytes, name, contentType }: OpenedDocument,
  { file, base64 }: DocumentMarks,
  isNamed: boolean,
): Json {
  return { key: documentKey, name: isNamed ? name : null, content_type: contentType, sha256, bytes, file, base64 }
}

/**
 * Puts a document where the marks are.
 * @param text encoded body.
 * @returns the body as a stream; null if the text has no mark.
 */
export function withDocument(text: string, document: OpenedDocument, marks: DocumentMarks): StreamedBody | null {
  const pieces = text.split(new RegExp(`(${marks.file}|${marks.base64})`))
  if (pieces.length === 1) return null
  const lengthOf = (piece: string) =>
    piece === marks.file ? document.bytes : piece === marks.base64 ? Math.ceil(document.bytes / 3) * 4 : Buffer.byteLength(piece)
  return {
    bytes: pieces.reduce((sum, piece) => sum + lengthOf(piece), 0),
    open: () => Readable.from(chunksOf(pieces, document, marks), { objectMode: false }),
  }
}

async function* chunksOf(pieces: readonly string[], document: OpenedDocument, marks: DocumentMarks): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    if (piece === marks.file) yield* counted(document)
    else if (piece === marks.base64) yield* inBase64(counted(document))
    else if (piece !== '') yield Buffer.from(piece)
  }
}

/**
 * Streams a document.
 * @throws PermanentError if the file's length differs from `bytes`.
 */
async function* counted({ bytes, open }: OpenedDocument): AsyncGenerator<Buffer> {
  let taken = 0
  for await (const chunk of (await open()) as AsyncIterable<Buffer>) {
    taken += chunk.length
    yield chunk
  }
  if (taken !== bytes) throw new PermanentError(`the stored document has ${taken} instead of ${bytes} bytes`)
}

/** Encodes a stream in base64. Three bytes become four characters, so chunks are cut at multiples of three bytes. */
async function* inBase64(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const whole = all.length - (all.length % 3)
    rest = Buffer.from(all.subarray(whole))
    if (whole > 0) yield Buffer.from(all.toString('base64', 0, whole), 'latin1')
  }
  if (rest.length > 0) yield Buffer.from(rest.toString('base64'), 'latin1')
}
