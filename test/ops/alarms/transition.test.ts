import { describe, expect, it } from 'vitest'
import { timeFromMs } from '../../../src/model/time.ts'
import { transition } from '../../../src/ops/alarms/transition.ts'
import { type Level, levelOf, problem } from '../../../src/ops/health/problem.ts'
import { type AlarmName, SETTLE_MS } from '../../../src/ops/health/problems.ts'
import type { AlarmRow } from '../../../src/store/operators/alarms.ts'

const MINUTE = 60_000
const START = Date.UTC(2026, 0, 5, 12)

function afterLooks(name: AlarmName, levels: readonly Level[], row: AlarmRow | null = null): AlarmRow | null {
  return levels.reduce<AlarmRow | null>((before, level, index) => {
    const next = transition(before, problem(name, { account: 'acme' }, level, `it is ${level}`), START + index * MINUTE)
    return next === 'forget' ? null : (next ?? before)
  }, row)
}

describe('an alarm', () => {
  it('fires immediately, or after its condition was on for its time without a break', () => {
    expect(afterLooks('connection_flood', ['on'])).toMatchObject({
      state: 'firing',
      severity: 'warning',
      since: timeFromMs(START),
      text: 'it is on',
    })
    expect(afterLooks('reads_overdue', ['on', 'on'])?.state).toBe('pending')
    expect(afterLooks('reads_overdue', Array(11).fill('on'))).toMatchObject({ state: 'firing', since: timeFromMs(START) })
    expect(afterLooks('reads_overdue', [...Array(9).fill('on'), 'off', 'on', 'on'])).toMatchObject({
      state: 'pending',
      since: timeFromMs(START + 10 * MINUTE),
    })
    expect(afterLooks('reads_overdue', ['on', 'off'])).toBeNull()
    expect(afterLooks('reads_overdue', ['on', 'between'])).toBeNull()
    expect(afterLooks('connection_flood', ['off', 'between'])).toBeNull()
  })

  it('restarts its time after more than five minutes without an evaluation: the program was down', () => {
    const pending = afterLooks('reads_overdue', Array(9).fill('on'))
    const looked = (ms: number) => transition(pending, problem('reads_overdue', { account: 'acme' }, 'on', ''), START + 8 * MINUTE + ms)
    expect(looked(SETTLE_MS)).toMatchObject({ state: 'firing', since: timeFromMs(START) })
    expect(looked(SETTLE_MS + 1)).toMatchObject({ state: 'pending', since: timeFromMs(START + 13 * MINUTE + 1) })
  })

  it('resolves with its condition, and continues when the condition returns within five minutes', () => {
    const resolved = afterLooks('reads_overdue', [...Array(11).fill('on'), 'off', 'off'])
    expect(resolved).toMatchObject({ state: 'resolved', since: timeFromMs(START), resolved_at: timeFromMs(START + 11 * MINUTE) })
    expect(afterLooks('reads_overdue', [...Array(11).fill('on'), 'off', 'off', 'between'])).toMatchObject({ state: 'resolved' })
    expect(afterLooks('reads_overdue', [...Array(11).fill('on'), 'off', 'off', 'on'])).toMatchObject({
      state: 'firing',
      since: timeFromMs(START),
    })
  })

  it('stays up between its limits, and keeps its last text', () => {
    const row = afterLooks('connection_flood', ['on', ...Array(10).fill('between')])
    expect(row).toMatchObject({ state: 'firing', text: 'it is on', last_at: timeFromMs(START + 10 * MINUTE) })
  })

  it('that comes back starts again, and knows its previous end', () => {
    const over = afterLooks('connection_flood', ['on', 'off'])
    const again = transition(over, problem('connection_flood', { account: 'acme' }, 'on', 'again'), START + 60 * MINUTE)
    expect(again).toMatchObject({ state: 'firing', since: timeFromMs(START + 60 * MINUTE), resolved_at: over?.resolved_at })
    expect(transition(over, problem('connection_flood', { account: 'acme' }, 'off', ''), START + 60 * MINUTE)).toBeNull()
  })

  it('has its level by two bounds', () => {
    expect([10, 15, 20].map((value) => levelOf(value, 10, 20))).toEqual(['off', 'between', 'on'])
  })
})
