import { createHash } from 'node:crypto'
import { pipeline, Readable, Transform } from 'node:stream'
import { finished } from 'node:stream/promises'
import { ZipFile } from 'yazl'

/** Adds a file to the archive. Resolves with the SHA-256 of the file after all of its bytes were read. */
export type Pack = (path: string, content: Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>) => Promise<string>

/** Files that the archive contains so far. */
export type Packed = { readonly path: string; readonly sha256: string }[]

/** Start of the comment at the end of the archive. The rest of the comment is the SHA-256 of all earlier bytes. */
export const SEAL = 'sha256:'
export const SEAL_LENGTH = SEAL.length + 64

/**
 * @returns a ZIP archive as a stream. Adds one file after the other, as fast as the caller reads the stream.
 * If `write` fails, the stream is destroyed with the error.
 */
export function zipOf(mtime: Date, write: (pack: Pack, files: Packed) => Promise<void>): Readable {
  const zip = new ZipFile()
  const files: Packed = []
  let current: Readable | null = null
  const archive = pipeline(zip.outputStream, sealing(), () => current?.destroy())
  const pack: Pack = async (path, content) => {
    if (archive.destroyed) throw new Error('the archive was closed')
    const hash = createHash('sha256')
    const hashed = async function* () {
      for await (const chunk of content) {
        hash.update(chunk)
        yield chunk
      }
    }
    current = Readable.from(hashed(), { objectMode: false })
    // Use the fastest level, because most documents are already compressed.
    zip.addReadStream(current, path, { mtime, compressionLevel: 1 })
    await finished(current)
    const sha256 = hash.digest('hex')
    files.push({ path, sha256 })
    return sha256
  }
  zip.on('error', (error) => archive.destroy(error as Error))
  write(pack, files).then(
    () => zip.end({ comment: SEAL.padEnd(SEAL_LENGTH, '0'), forceZip64Format: false }),
    (error: Error) => archive.destroy(error),
  )
  return archive
}

/** @returns a stream that replaces the placeholder in the comment with the SHA-256 of all earlier bytes. */
function sealing(): Transform {
  const hash = createHash('sha256')
  let last = Buffer.alloc(0)
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const all = Buffer.concat([last, chunk])
      const ready = all.subarray(0, Math.max(0, all.length - SEAL_LENGTH))
      last = all.subarray(ready.length)
      hash.update(ready)
      done(null, ready)
    },
    flush: (done) => done(null, `${SEAL}${hash.digest('hex')}`),
  })
}
