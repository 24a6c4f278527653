import type { Readable } from 'node:stream'
import type { Budget } from './budget.ts'
import type { Deadline } from './deadlines.ts'

/**
 * `too_large`: longer than the limit · `no_room`: the bodies of other requests fill the memory that all may take · `late`: the
 * deadline passed · `cut`: the sender went away.
 */
export type BodyFault = 'too_large' | 'no_room' | 'late' | 'cut'

export interface BodyLimits {
  /** Bytes of one body, whether its length was announced or not. */
  readonly limitBytes: number
  /** Bytes of all bodies. What a body that was read whole has taken is given back by whoever reads it. */
  readonly memory: Budget
  readonly deadline: Deadline
}

/** A chunk costs some hundred bytes beside what it holds, and a sender may make each byte a chunk: that many are copied into one. */
const CHUNKS_COPIED = 256

/** @returns the raw bytes, or why there are none. What still arrives of a refused body is read and dropped. Never rejects. */
export function readBody(stream: Readable, limits: BodyLimits): Promise<Buffer | BodyFault> {
  const { limitBytes, memory, deadline } = limits
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    /** How many of them, from the first, are copies of many. */
    let copies = 0
    let length = 0

    const stop = (result: Buffer | BodyFault) => {
      stream.off('data', onData)
      stream.off('end', onEnd)
      stream.off('close', onCut)
      deadline.onExpiry(null)
      if (!Buffer.isBuffer(result)) {
        memory.give(length)
        stream.resume()
      }
      resolve(result)
    }
    const onData = (chunk: Buffer) => {
      if (length + chunk.length > limitBytes) return stop('too_large')
      if (!memory.take(chunk.length)) return stop('no_room')
      length += chunk.length
      if (chunks.push(chunk) - copies < CHUNKS_COPIED) return
      chunks.push(Buffer.concat(chunks.splice(copies)))
      copies += 1
    }
    const onEnd = () => stop(Buffer.concat(chunks, length))
    const onCut = () => stop('cut')

    if (deadline.expired) return stop('late')
    deadline.onExpiry(() => stop('late'))
    stream.on('data', onData)
    stream.on('end', onEnd)
    stream.on('close', onCut)
    // A stream without a listener for its error ends the process; `close` follows it.
    stream.on('error', ignore)
  })
}

function ignore(): void {}
