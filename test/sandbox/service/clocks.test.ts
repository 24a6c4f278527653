import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { fastClock, StepClock } from '../../../src/sandbox/service/clocks.ts'

const settled = async () => {}

test('a stepped clock wakes sleepers at their times, including new ones', async () => {
  const clock = new StepClock(1_000)
  const seen: [string, number][] = []
  const note = (name: string) => seen.push([name, clock.now()])
  clock.after(200, () => note('second'))
  clock.after(100, () => {
    note('first')
    clock.after(50, () => note('between'))
  })
  clock.after(900, () => note('later'))
  clock.after(10, () => note('cancelled'))()
  await clock.advance(500, settled)
  expect(seen).toEqual([
    ['first', 1_100],
    ['between', 1_150],
    ['second', 1_200],
  ])
  expect([clock.now(), clock.steady()]).toEqual([1_500, 500])
  await Promise.all([clock.advance(300, settled), clock.advance(100, settled)])
  expect(seen.at(-1)).toEqual(['later', 1_900])
})

test('a sleep on a stepped clock ends with its signal too', async () => {
  const clock = new StepClock(0)
  const stop = new AbortController()
  const sleep = clock.sleep(1_000, stop.signal)
  stop.abort()
  await sleep
  await clock.sleep(1_000, stop.signal)
  await clock.sleep(0)
  const [inTime, onTime] = [clock.sleep(1_000), clock.advance(1_000, settled)]
  await Promise.all([inTime, onTime])
  expect(clock.now()).toBe(1_000)
})

test("a fast clock multiplies its base's speed", async () => {
  const base = new ManualClock(0)
  const clock = fastClock(base, 60, 5_000)
  let woken = 0
  clock.after(60_000, () => woken++)
  const sleep = clock.sleep(120_000)
  base.advance(1_000)
  expect([clock.now(), clock.steady(), woken]).toEqual([65_000, 60_000, 1])
  base.advance(1_000)
  await sleep
})
