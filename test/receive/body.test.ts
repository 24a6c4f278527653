import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { readBody } from '../../src/receive/body.ts'
import { Budget } from '../../src/receive/budget.ts'
import { Deadlines } from '../../src/receive/deadlines.ts'

describe('readBody', () => {
  function reading(limitBytes: number) {
    const deadline = new Deadlines(new ManualClock(), 8_000).start()
    const stream = new PassThrough()
    const body = readBody(stream, { limitBytes, memory: new Budget(limitBytes), deadline })
    return { stream, body: body.finally(() => deadline.end()) }
  }

  it('reads a body that comes in chunks of any size', async () => {
    const { stream, body } = reading(100_000)
    const sent = Array.from({ length: 1_000 }, (_, n) => Buffer.alloc(n % 7 === 0 ? 90 : 1 + (n % 3), n))
    for (const chunk of sent) stream.write(chunk)
    stream.end()
    expect(await body).toEqual(Buffer.concat(sent))
  })

  it('does not keep the many small chunks that a sender makes of a body', async () => {
    const { stream, body } = reading(10_000)
    const sent = Array.from({ length: 1_000 }, () => Buffer.from('a'))
    const arrived = new Promise<void>((resolve) => {
      let left = sent.length
      stream.on('data', () => {
        left -= 1
        if (left === 0) resolve()
      })
    })
    for (const chunk of sent) stream.write(chunk)
    await arrived
    // What is still held is seen in the body: a chunk that was copied can change no more.
    for (const chunk of sent) chunk.fill('b')
    stream.end()
    const text = String(await body)
    expect(text).toHaveLength(1_000)
    expect(text.replaceAll('a', '').length).toBeLessThan(256)
  })
})
