import type { Readable } from 'node:stream'
import { chunkLimit } from './connections/chunk-limit.ts'
import type { Deadline } from './deadline.ts'

/**
 * `too_large`: exceeds the limit · `many_chunks`: too many small chunks for its length · `no_room`: no memory left for bodies · `late`: the
 * deadline passed · `cut`: the sender disconnected.
 */
type BodyFault = 'too_large' | 'many_chunks' | 'no_room' | 'late' | 'cut'

interface BodyLimits {
  /** Bytes of one body, with or without an announced length. */
  readonly limitBytes: number
  /** Memory for all bodies. The caller releases the bytes of a complete body. */
  readonly memory: MemoryBudget
  readonly deadline: Deadline
}

/** This many chunks are merged into one, because a sender may send single bytes, and a chunk takes some hundred bytes. */
const CHUNKS_MERGED = 256

/** @returns the raw bytes, or why there are none. The rest of a rejected body is read and dropped. Never rejects. */
export function readBody(stream: Readable, limits: BodyLimits): Promise<Buffer | BodyFault> {
  const { limitBytes, memory, deadline } = limits
  return new Promise((resolve) => {
    /** Merged chunks first, then single ones. */
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
    // A stream error without a listener ends the process. `close` follows errors.
    stream.on('error', () => {})
  })
}

/** A byte limit for many users, such as the bodies of all requests in flight. */
export class MemoryBudget {
  readonly #limitBytes: number
  #reservedBytes = 0

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** @returns false, and reserves nothing, if fewer than `bytes` are left. */
  reserve(bytes: number): boolean {
    if (this.#reservedBytes + bytes > this.#limitBytes) return false
    this.#reservedBytes += bytes
    return true
  }

  release(bytes: number): void {
    this.#reservedBytes -= bytes
  }
}
