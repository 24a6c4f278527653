import { describe, expect, it } from 'vitest'
import { WriteGate } from '../../../src/store/engine/write-gate.ts'

describe('the gate of the one writing connection', () => {
  /** Holds the gate, lines up visitors, opens it, and returns the order in which they came through. */
  async function orderOf(visitors: readonly string[]): Promise<string[]> {
    const gate = new WriteGate()
    const order: string[] = []
    await gate.enter(false)
    const visits = visitors.map(async (name) => {
      await gate.enter(name.startsWith('first'))
      order.push(name)
      gate.leave()
    })
    gate.leave()
    await Promise.all(visits)
    return order
  }

  it('keeps the order of arrival', async () => {
    expect(await orderOf(['a', 'b', 'c'])).toEqual(['a', 'b', 'c'])
  })

  it("lets priority waiters pass, four in a row, so that the others don't wait forever", async () => {
    const firsts = ['first 1', 'first 2', 'first 3', 'first 4', 'first 5', 'first 6']
    expect(await orderOf(['a', 'b', ...firsts])).toEqual([...firsts.slice(0, 4), 'a', 'first 5', 'first 6', 'b'])
  })

  it('admits one at a time, and a newcomer when it is free', async () => {
    const gate = new WriteGate()
    let inside = 0
    await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        await gate.enter(i % 3 === 0)
        expect(++inside).toBe(1)
        await new Promise(setImmediate)
        inside--
        gate.leave()
      }),
    )
    await gate.enter(false)
    gate.leave()
  })

  it('yields to the event loop between repeated entries without waiters', async () => {
    const gate = new WriteGate()
    let turns = 0
    const seen = new Set<number>()
    const visitor = (async () => {
      for (let visit = 0; visit < 5; visit++) {
        await gate.enter(false)
        seen.add(turns)
        gate.leave()
      }
    })()
    for (; seen.size < 5 && turns < 20; turns++) await new Promise(setImmediate)
    await visitor
    expect(seen.size).toBe(5)
  })

  it('yields to the event loop before admitting a normal waiter, so that a new priority waiter is seen', async () => {
    const gate = new WriteGate()
    const order: string[] = []
    await gate.enter(false)
    const other = gate.enter(false).then(() => {
      order.push('other')
      gate.leave()
    })
    gate.leave()
    const first = gate.enter(true).then(() => {
      order.push('first')
      gate.leave()
    })
    await Promise.all([other, first])
    expect(order).toEqual(['first', 'other'])
  })
})
