/**
 * A body of n bytes may have 4,096 + n / 64 chunks. Reading a chunk of one byte costs as much as reading a
 * chunk of one kilobyte.
 */
const FREE_CHUNKS = 4_096
const BYTES_PER_CHUNK = 64

/**
 * @returns a function to call with each chunk of one body. The function returns true if the body has too many chunks.
 */
export function chunkLimit(): (chunk: Buffer) => boolean {
  let chunks = 0
  let bytes = 0
  return ({ length }) => {
    chunks += 1
    bytes += length
    return chunks > FREE_CHUNKS + bytes / BYTES_PER_CHUNK
  }
}
