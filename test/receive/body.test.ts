import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { MemoryBudget, readBody } from '../../src/receive/body.ts'
import { Deadline } from '../../src/receive/deadline.ts'

describe('readBody', () => {
  const TIME_MS = 8_000

  function reading(limitBytes: number, memory = new MemoryBudget(limitBytes)) {
    const clock = new ManualClock()
    const deadline = new Deadline(clock, TIME_MS)
    const stream = new PassThrough()
    const body = readBody(stream, { limitBytes, memory, deadline })
    return { stream, body, clock, memory, deadline }
  }

  it('reads a body that comes in chunks of any size', async () => {
    const { stream, body } = reading(100_000)
    const sent = Array.from({ length: 1_000 }, (_, n) => Buffer.alloc(n % 7 === 0 ? 90 : 1 + (n % 3), n))
    for (const chunk of sent) stream.write(chunk)
    stream.end()
    expect(await body).toEqual(Buffer.concat(sent))
  })

  it('merges the many small chunks of a body', async () => {
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
    // The body shows what is still held: a copied chunk can't change any more.
    for (const chunk of sent) chunk.fill('b')
    stream.end()
    const text = String(await body)
    expect(text).toHaveLength(1_000)
    expect(text.replaceAll('a', '').length).toBeLessThan(256)
  })

  it.each<[string, (one: ReturnType<typeof reading>) => unknown]>([
    ['too_large', ({ stream }) => stream.write(Buffer.alloc(61))],
    ['no_room', ({ stream }) => stream.write(Buffer.alloc(40))],
    ['late', ({ clock }) => clock.advance(TIME_MS)],
    ['cut', ({ stream }) => stream.destroy(new Error('the connection was reset'))],
  ])('releases once the memory of a body refused as %s, and drops the rest of it', async (fault, refuse) => {
    const memory = new MemoryBudget(60)
    const one = reading(100, memory)
    one.stream.write(Buffer.alloc(40))
    await turn()
    refuse(one)
    expect(await one.body).toBe(fault)
    one.stream.end(Buffer.alloc(1_000))
    await turn()
    expect([one.stream.readableLength, memory.reserve(60), memory.reserve(1)]).toEqual([0, true, false])
  })

  it('leaves the memory of a whole body to the caller, though the stream closes and the deadline passes after that', async () => {
    const { stream, body, memory, clock } = reading(100)
    stream.end(Buffer.alloc(100))
    expect(await body).toHaveLength(100)
    clock.advance(TIME_MS)
    await turn()
    expect(stream.closed).toBe(true)
    expect(memory.reserve(1)).toBe(false)
  })

  it('keeps nothing of a request whose deadline has passed', async () => {
    const { clock, deadline, memory } = reading(100)
    clock.advance(TIME_MS)
    await turn()
    const stream = new PassThrough()
    stream.end(Buffer.alloc(10))
    expect(await readBody(stream, { limitBytes: 100, memory, deadline })).toBe('late')
    await turn()
    expect([stream.readableLength, memory.reserve(100)]).toEqual([0, true])
  })

  it('copies a body of many small chunks twice, not once per chunk', async () => {
    const concat = vi.spyOn(Buffer, 'concat')
    onTestFinished(() => concat.mockRestore())
    const { stream, body } = reading(10_000)
    for (let n = 0; n < 4_000; n++) stream.write(Buffer.from('a'))
    stream.end()
    expect(await body).toHaveLength(4_000)
    const copied = concat.mock.results.reduce((total, { value }) => total + (value as Buffer).length, 0)
    expect(copied).toBeLessThanOrEqual(8_000)
  })
})
