import { pipeline, type Readable, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { codeOf } from '../../base/errors.ts'

const DECODERS: Readonly<Record<string, () => Transform & { readonly bytesWritten: number }>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/** Each takes memory of its own. */
const MOST_STEPS = 3

/** The body of an answer cannot be decoded. The message continues a sentence that begins with "the answer" or "its answer". */
export class EncodingError extends Error {}

/** @returns the encodings of a body, in the order in which they were applied; none for a body that came as it is, as we ask for it. */
export function encodingsOf(contentEncoding: string | readonly string[] | undefined): readonly string[] {
  const names = [contentEncoding ?? []].flat().flatMap((value) => value.toLowerCase().split(','))
  return names.map((name) => name.trim()).filter((name) => name !== '' && name !== 'identity')
}

/**
 * Decodes a body while it arrives. Servers and proxies compress although `identity` was asked for.
 * @param encodings as `encodingsOf` yields them.
 * @returns the decoded bytes. Limits are up to the reader: a few bytes may decode to any number.
 * @throws EncodingError while reading, for an unknown encoding and for bytes that are not what it says; what breaks `body` off, unchanged.
 */
export async function* decodedBody(body: Readable, encodings: readonly string[]): AsyncGenerator<Buffer> {
  if (encodings.length > MOST_STEPS) throw new EncodingError(`is encoded ${encodings.length} times over, which is not supported`)
  const steps = encodings.toReversed().map((name) => {
    const create = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined
    if (create === undefined)
      throw new EncodingError(`is encoded as ${name.slice(0, 40)}, which is not supported; have its sender leave it plain`)
    return create()
  })
  const [first] = steps
  // Errors are thrown by reading the last step.
  if (first !== undefined) pipeline([body, ...steps], () => undefined)
  try {
    yield* steps.at(-1) ?? body
  } catch (error) {
    if (first === undefined || body.errored) throw body.errored ?? error
    // No bytes are no text in any encoding: answers without a body have the header too.
    const isEmpty = first.bytesWritten === 0 && codeOf(error) === 'Z_BUF_ERROR'
    if (!isEmpty) throw new EncodingError(`is not the ${encodings.join(', ')} that its header says (${codeOf(error)})`)
  }
}
