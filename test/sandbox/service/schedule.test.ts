import { expect, test } from 'vitest'
import { ManualClock, systemClock } from '../../../src/base/clock.ts'
import { type Due, Schedule } from '../../../src/sandbox/service/schedule.ts'
import { passTime } from '../writer.ts'

function due(kind: string, atMs: number): Due {
  return { atMs, account: 'default', submissionId: 'one', kind, data: {} }
}

function stepped(follow: (due: Due, schedule: Schedule) => void = () => {}) {
  const clock = new ManualClock(0)
  const seen: { kind: string; nowMs: number }[] = []
  const schedule: Schedule = new Schedule(clock, (entry) => {
    seen.push({ kind: entry.kind, nowMs: clock.now() })
    follow(entry, schedule)
  })
  return { clock, schedule, seen }
}

test('on a stepped clock each entry runs at its own time, in order, with new entries in the same step', () => {
  const { clock, schedule, seen } = stepped((entry, own) => {
    if (entry.kind === 'first') own.add(due('follows', 250))
  })
  schedule.add(due('last', 300))
  schedule.add(due('first', 100))
  schedule.add(due('beyond', 1_001))
  passTime(clock, schedule, 1_000)
  expect(seen).toEqual([
    { kind: 'first', nowMs: 100 },
    { kind: 'follows', nowMs: 250 },
    { kind: 'last', nowMs: 300 },
  ])
  expect(clock.now()).toBe(1_000)
  expect(schedule.pending().map(({ kind }) => kind)).toEqual(['beyond'])
})

test('a clock jump runs all passed entries in order', () => {
  const { clock, schedule, seen } = stepped()
  schedule.add(due('b', 20))
  schedule.add(due('a', 10))
  schedule.add(due('c', 20))
  clock.advance(50)
  expect(seen.map(({ kind }) => kind)).toEqual(['a', 'b', 'c'])
})

test('on a real clock one timer runs due entries', async () => {
  const done = Promise.withResolvers<string>()
  const schedule = new Schedule(systemClock, ({ kind }) => done.resolve(kind))
  schedule.add(due('late', systemClock.now() + 3_600_000))
  schedule.add(due('soon', systemClock.now() + 5))
  expect(await done.promise).toBe('soon')
  schedule.close()
})

test('entries are restored from JSON, and overdue ones run immediately', () => {
  const before = stepped()
  before.schedule.add(due('kept', 500))
  const kept = JSON.parse(JSON.stringify(before.schedule.pending())) as Due[]
  const { clock, schedule, seen } = stepped()
  clock.advance(600)
  schedule.restore(kept)
  passTime(clock, schedule, 0)
  expect(seen).toEqual([{ kind: 'kept', nowMs: 600 }])
})

test('removed entries do not run, and none after closing', () => {
  const { clock, schedule, seen } = stepped()
  schedule.add(due('gone', 10))
  schedule.add(due('late', 20))
  schedule.remove(({ kind }) => kind === 'gone')
  clock.advance(15)
  schedule.close()
  clock.advance(15)
  expect(seen).toEqual([])
})
