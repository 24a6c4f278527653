import type { Readable } from 'node:stream'
import { chunkLimit } from './connections/chunk-limit.ts'
import type { Deadline } from './deadline.ts'

/**
 * Why a body was not read:
 * - `too_large`: larger than the limit
 * - `many_chunks`: too many small chunks for its length
 * - `no_room`: the memory for bodies is full
 * - `late`: the deadline passed
 * - `cut`: the sender disconnected
 */
type BodyFault = 'too_large' | 'many_chunks' | 'no_room' | 'late' | 'cut'

interface BodyLimits {
  /** Maximum size of one body, also if the sender announces no length. */
  readonly limitBytes: number
  /**
   * Memory that all bodies share. `readBody` reserves each body's bytes. The caller must release the bytes of a
   * complete body. `readBody` releases the bytes of an incomplete body.
   */
  readonly memory: MemoryBudget
  readonly deadline: Deadline
}

/**
 * `readBody` merges this many chunks into one buffer. Otherwise each chunk, even of a single byte, would take a few
 * hundred bytes of memory.
 */
const CHUNKS_MERGED = 256

/**
 * Reads a request body. If reading stops early, drops the rest of the body as it arrives. The promise never rejects.
 * @returns the raw bytes, or the reason why reading stopped.
 */
export function readBody(stream: Readable, limits: BodyLimits): Promise<Buffer | BodyFault> {
  const { limitBytes, memory, deadline } = limits
  return new Promise((resolve) => {
    /**
     * Merged buffers with the bytes of `CHUNKS_MERGED` chunks each, followed by the chunks that aren't merged yet.
     * `merged` is the number of merged buffers.
     */
    const chunks: Buffer[] = []
    let merged = 0
    let length = 0
    const isTooMany = chunkLimit()

    const finish = (result: Buffer | BodyFault) => {
      stream.off('data', onData)
      stream.off('end', onEnd)
      stream.off('close', onClose)
      deadline.onExpiry(null)
      if (!Buffer.isBuffer(result)) {
        memory.release(length)
        stream.resume()
      }
      resolve(result)
    }
    const onData = (chunk: Buffer) => {
      if (length + chunk.length > limitBytes) return finish('too_large')
      if (isTooMany(chunk)) return finish('many_chunks')
      if (!memory.reserve(chunk.length)) return finish('no_room')
      length += chunk.length
      if (chunks.push(chunk) - merged < CHUNKS_MERGED) return
      chunks.push(Buffer.concat(chunks.splice(merged)))
      merged += 1
    }
    const onEnd = () => finish(Buffer.concat(chunks, length))
    const onClose = () => finish('cut')

    if (deadline.expired) return finish('late')
    deadline.onExpiry(() => finish('late'))
    stream.on('data', onData)
    stream.on('end', onEnd)
    stream.on('close', onClose)
    // Without this listener, an `error` event would end the process. A `close` event follows and calls `onClose`.
    stream.on('error', () => {})
  })
}

/** A byte limit that several users share, such as the bodies of all requests in flight. */
export class MemoryBudget {
  readonly #limitBytes: number
  #reservedBytes = 0

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** @returns false if fewer than `bytes` are left; then nothing is reserved. */
  reserve(bytes: number): boolean {
    if (this.#reservedBytes + bytes > this.#limitBytes) return false
    this.#reservedBytes += bytes
    return true
  }

  release(bytes: number): void {
    this.#reservedBytes -= bytes
  }
}
