import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { BadSignatures } from '../../src/receive/bad-signatures.ts'
import { MemoryBudget } from '../../src/receive/body.ts'
import { Deadline } from '../../src/receive/deadline.ts'

describe('BadSignatures', () => {
  it('limits an address after 20 in a minute, until fewer than 20 are within the last minute', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(10_000), { maxLength: 200, size: 'max' }), (gaps) => {
        const bad = new BadSignatures()
        const times: number[] = []
        let now = 0
        for (const gap of gaps) {
          now += gap
          const before = times.filter((time) => now - time < 60_000).length
          expect(bad.isLimited('192.0.2.1', now)).toBe(before >= 20)
          expect(bad.note('192.0.2.1', now)).toBe(before >= 20)
          times.push(now)
        }
      }),
    )
  })

  it('counts addresses apart, IPv6 by the first 64 bits, and IPv4 however it is written', () => {
    const bad = new BadSignatures()
    const together = (a: string, b: string) => {
      for (let n = 0; n < 20; n++) bad.note(a, 0)
      return bad.isLimited(b, 0)
    }
    expect(together('192.0.2.1', '192.0.2.2')).toBe(false)
    expect(together('::ffff:192.0.2.3', '192.0.2.3')).toBe(true)
    expect(together('2001:db8:1:2::1', '2001:0DB8:1:2:ffff::9')).toBe(true)
    expect(together('2001:db8::1', '2001:db8:0:0:8::')).toBe(true)
    expect(together('2001:db8::4:5:6:7:8', '2001:db8:0:4::1')).toBe(true)
    expect(together('2001:db8:1:3::1', '2001:db8:1:4::1')).toBe(false)
    expect(together('whatever a proxy wrote', 'whatever a proxy wrote')).toBe(true)
  })

  it('forgets the oldest address when there are too many', () => {
    const bad = new BadSignatures()
    for (let n = 0; n < 20; n++) bad.note('192.0.2.1', 0)
    for (let n = 0; n < 9_999; n++) bad.note(`10.0.${n >> 8}.${n & 255}`, 0)
    expect(bad.isLimited('192.0.2.1', 0)).toBe(true)
    bad.note('198.51.100.1', 0)
    expect(bad.isLimited('192.0.2.1', 0)).toBe(false)
    // An address that has just sent another is not the oldest.
    for (let n = 0; n < 20; n++) bad.note('10.0.0.0', 0)
    bad.note('198.51.100.2', 0)
    expect(bad.isLimited('10.0.0.0', 0)).toBe(true)
  })
})

describe('Deadline', () => {
  it('expires once after its time, unless it ends before', async () => {
    const clock = new ManualClock()
    const expired: string[] = []
    const start = (name: string) => {
      const deadline = new Deadline(clock, 8_000)
      deadline.onExpiry(() => expired.push(name))
      return deadline
    }
    const settle = async () => {
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
    }
    const a = start('a')
    clock.advance(3_000)
    const b = start('b')
    start('c')
    clock.advance(4_999)
    await settle()
    expect([expired, a.expired]).toEqual([[], false])
    clock.advance(1)
    await settle()
    expect([expired, a.expired, b.expired]).toEqual([['a'], true, false])
    b.end()
    clock.advance(3_000)
    await settle()
    expect([expired, b.expired]).toEqual([['a', 'c'], false])
    const d = start('d')
    d.onExpiry(null)
    clock.advance(8_000)
    await settle()
    expect([expired, d.expired]).toEqual([['a', 'c'], true])
  })
})

describe('MemoryBudget', () => {
  it('reserves at most the available bytes', () => {
    const budget = new MemoryBudget(10)
    expect([budget.reserve(6), budget.reserve(5), budget.reserve(4)]).toEqual([true, false, true])
    budget.release(6)
    expect([budget.reserve(7), budget.reserve(6)]).toEqual([false, true])
  })
})
