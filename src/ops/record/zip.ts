import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { ZipFile } from 'yazl'

/** Adds a file. Resolves with its SHA-256 when all its bytes were read. */
export type Pack = (path: string, content: Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>) => Promise<string>

/** A ZIP archive as a stream. Files are read one after the other, as fast as the archive is read. An error of `write` destroys it. */
export function zipOf(mtime: Date, write: (pack: Pack) => Promise<void>): Readable {
  const zip = new ZipFile()
  const archive = zip.outputStream as Readable
  let current: Readable | null = null
  const pack: Pack = async (path, content) => {
    if (archive.destroyed) throw new Error('the archive was closed')
    const hash = createHash('sha256')
    const hashed = async function* () {
      for await (const chunk of content) {
        const buffer = Buffer.from(chunk as Uint8Array)
        hash.update(buffer)
        yield buffer
      }
    }
    current = Readable.from(hashed(), { objectMode: false })
    // Documents are mostly compressed already.
    zip.addReadStream(current, path, { mtime, compressionLevel: 1 })
    await finished(current)
    return hash.digest('hex')
  }
  archive.on('close', () => current?.destroy())
  zip.on('error', (error) => archive.destroy(error as Error))
  write(pack).then(
    () => zip.end(),
    (error: Error) => archive.destroy(error),
  )
  return archive
}
