import { createHash } from 'node:crypto'
import { RefusedDocument, TooLongDocument } from './errors.ts'
import { type Expected, pathOf, type StoredDocument } from './storage.ts'

const PDF = Buffer.from('%PDF-')

/** The bytes of one document as they pass by: counted, hashed, and compared with what was promised. */
export class CheckedBody {
  readonly #body: AsyncIterable<Uint8Array>
  readonly #expected: Expected
  readonly #hash = createHash('sha256')
  #bytes = 0
  #head = Buffer.alloc(0)

  constructor(body: AsyncIterable<Uint8Array>, expected: Expected) {
    this.#body = body
    this.#expected = expected
  }

  /** @throws RefusedDocument as soon as a byte is too much or not what was promised. */
  async *chunks(): AsyncGenerator<Uint8Array> {
    const { maxBytes, bytes, isPdf } = this.#expected
    if (bytes !== null && bytes > maxBytes) throw tooLong(`${bytes} bytes`, maxBytes)
    for await (const chunk of this.#body) {
      this.#bytes += chunk.length
      if (this.#bytes > maxBytes) throw tooLong(`more than ${maxBytes} bytes`, maxBytes)
      if (bytes !== null && this.#bytes > bytes) throw new RefusedDocument(`the answer is longer than the ${bytes} bytes that it promised`)
      if (isPdf && this.#head.length < PDF.length) this.#look(chunk)
      this.#hash.update(chunk)
      yield chunk
    }
  }

  /** @returns what passed by, once all of it has. @throws RefusedDocument when it is not whole. */
  stored(): StoredDocument {
    const { bytes, isPdf } = this.#expected
    if (bytes !== null && this.#bytes !== bytes) {
      throw new RefusedDocument(`the answer ended after ${this.#bytes} of the ${bytes} bytes that it promised`)
    }
    if (this.#bytes === 0) throw new RefusedDocument('the answer is empty')
    if (isPdf && this.#head.length < PDF.length) throw notPdf(this.#head)
    const sha256 = this.#hash.digest('hex')
    return { sha256, bytes: this.#bytes, path: pathOf(sha256) }
  }

  #look(chunk: Uint8Array): void {
    this.#head = Buffer.concat([this.#head, chunk.subarray(0, PDF.length - this.#head.length)])
    if (!PDF.subarray(0, this.#head.length).equals(this.#head)) throw notPdf(this.#head)
  }
}

function tooLong(length: string, maxBytes: number): TooLongDocument {
  return new TooLongDocument(
    `the document has ${length}; the longest allowed is ${maxBytes} (DOCUMENTS_MAX_BYTES); raise it to have the document fetched`,
  )
}

/** What stands there instead is not repeated: it may be anything. */
function notPdf(head: Buffer): RefusedDocument {
  return new RefusedDocument(`the answer promised a PDF and does not begin with %PDF- (its first bytes are ${head.toString('hex')})`)
}
