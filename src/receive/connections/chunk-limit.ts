/** Every body may have this many chunks, plus one per this many bytes. A chunk costs the same for a byte or a kilobyte. */
const FREE_CHUNKS = 4_096
const BYTES_PER_CHUNK = 64

/** @returns a function that takes each chunk of one body, and returns whether there are too many for its length. */
export function chunkLimit(): (chunk: Buffer) => boolean {
  let chunks = 0
  let bytes = 0
  return ({ length }) => {
    chunks += 1
    bytes += length
    return chunks > FREE_CHUNKS + bytes / BYTES_PER_CHUNK
  }
}
