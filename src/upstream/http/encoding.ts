import { pipeline, type Readable, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { codeOf } from '../../base/errors.ts'

const DECODERS: Readonly<Record<string, () => Transform & { readonly bytesWritten: number }>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

const MOST_STEPS = 3

/** The body can't be decoded. The message continues a sentence that starts with "the answer". */
export class EncodingError extends Error {}

/** @returns the encodings of a body, in the order in which they were applied. */
export function encodingsOf(contentEncoding: string | readonly string[] | undefined): readonly string[] {
  const names = [contentEncoding ?? []].flat().flatMap((value) => value.toLowerCase().split(','))
  return names.map((name) => name.trim()).filter((name) => name !== '' && name !== 'identity')
}

/**
 * Decodes a body while it arrives. Some servers and proxies compress answers although the request asks for `identity`.
 * @param encodings from `encodingsOf`.
 * @returns the decoded bytes. The caller must limit the number of bytes.
 * @throws EncodingError for an unknown encoding or malformed bytes.
 * @throws errors of `body`.
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
  // The callback ignores errors, because reading the last step throws them.
  if (first !== undefined) pipeline([body, ...steps], () => undefined)
  try {
    yield* steps.at(-1) ?? body
  } catch (error) {
    if (first === undefined || body.errored) throw body.errored ?? error
    // An empty body may still have a Content-Encoding header.
    const isEmpty = first.bytesWritten === 0 && codeOf(error) === 'Z_BUF_ERROR'
    if (!isEmpty) throw new EncodingError(`is not the ${encodings.join(', ')} that its header says (${codeOf(error)})`)
  }
}
