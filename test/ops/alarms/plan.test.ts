import { describe, expect, it } from 'vitest'
import type { OperatorConfig } from '../../../src/config/config.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { planOf } from '../../../src/ops/alarms/plan.ts'
import { type Level, problem } from '../../../src/ops/health/problem.ts'
import { alarmNames } from '../../../src/ops/health/problems.ts'
import type { AlarmRow, NoticeRow } from '../../../src/store/operators/alarms.ts'

const HOUR = 3_600_000
const MINUTE = 60_000
const NOW = Date.UTC(2026, 0, 5, 12)

const operator = (over: Partial<OperatorConfig> = {}) =>
  ({ name: 'oncall', kind: 'webhook', repeatMs: HOUR, resolved: true, ...over }) as OperatorConfig

function alarm(state: AlarmRow['state'], over: Partial<AlarmRow> = {}): AlarmRow {
  const at = { since: timeFromMs(NOW - 3 * HOUR), last_at: timeFromMs(NOW), notified_at: null, resolved_at: null }
  return { name: 'inbox_dead', account: 'acme', destination: '', severity: 'warning', state, ...at, text: '', ...over }
}

function notice(kind: NoticeRow['kind'], agoMs: number | null): NoticeRow {
  const settled = agoMs === null ? null : timeFromMs(NOW - agoMs)
  const about = { operator: 'oncall', name: 'inbox_dead', account: 'acme', destination: '' }
  const tries = { queued_at: timeFromMs(NOW), due_at: timeFromMs(NOW), attempts: 0, error: null }
  return { ...about, ...tries, notice_id: 'one', kind, outcome: settled === null ? null : 'sent', settled_at: settled }
}

function planned(stored: readonly AlarmRow[], notices: readonly NoticeRow[], levels: readonly Level[], who = [operator()]) {
  const problems = levels.map((level) => problem('inbox_dead', { account: 'acme' }, level, ''))
  const plan = planOf({ problems, names: new Set(alarmNames) }, stored, notices, who, NOW)
  return { ...plan, sent: plan.notices.map(({ kind }) => kind) }
}

describe('the changes of one evaluation', () => {
  it('repeats a lasting alarm when it is time, and not before, also for recipients who get no ends', () => {
    for (const resolved of [true, false]) {
      const sent = (agoMs: number | null) => planned([alarm('firing')], [notice('firing', agoMs)], ['on'], [operator({ resolved })])
      for (const agoMs of [null, HOUR - 1]) expect(sent(agoMs)).toMatchObject({ sent: [], forgottenNotices: [] })
      expect(sent(HOUR)).toMatchObject({ sent: ['repeated'], forgottenNotices: [] })
    }
  })

  it('reports an end only after five minutes, and nothing when the alarm returns within them', () => {
    for (const [resolvedMsAgo, sent] of [
      [4 * MINUTE, []],
      [5 * MINUTE, ['resolved']],
    ] as const) {
      const resolved = alarm('resolved', { resolved_at: timeFromMs(NOW - resolvedMsAgo) })
      expect(planned([resolved], [notice('firing', HOUR / 2)], ['off'])).toMatchObject({ sent, forgottenNotices: [] })
    }
    const resolved = alarm('resolved', { resolved_at: timeFromMs(NOW - MINUTE) })
    for (const wantsEnds of [true, false]) {
      const who = [operator({ resolved: wantsEnds })]
      expect(planned([alarm('firing')], [notice('firing', 2 * HOUR)], ['off'], who)).toMatchObject({ sent: [], forgottenNotices: [] })
      expect(planned([resolved], [notice('firing', HOUR / 2)], ['on'], who)).toMatchObject({ sent: [], alarms: [{ state: 'firing' }] })
    }
  })

  it('sends an alarm that starts again before its end was sent', () => {
    for (const agoMs of [null, 1]) expect(planned([alarm('resolved')], [notice('resolved', agoMs)], ['on']).sent).toEqual(['firing'])
  })

  it('sends an end once, to recipients who got the start and want ends', () => {
    const over = alarm('resolved', { resolved_at: timeFromMs(NOW - HOUR) })
    expect(planned([over], [notice('firing', HOUR)], ['off'])).toMatchObject({ sent: ['resolved'], forgottenNotices: [] })
    expect(planned([over], [notice('resolved', null)], ['off'])).toMatchObject({ sent: [], forgottenNotices: [] })
    expect(planned([over], [notice('resolved', 1)], ['off'])).toMatchObject({ sent: [], forgottenNotices: [{ kind: 'resolved' }] })
    expect(planned([over], [], ['off']).sent).toEqual([])
    const unwanted = planned([over], [notice('firing', 1)], ['off'], [operator({ resolved: false })])
    expect(unwanted).toMatchObject({ sent: [], forgottenNotices: [{ kind: 'firing' }] })
  })

  it('forgets pending alarms that are off, alarms of other releases, and notices to removed operators', () => {
    const pending = alarm('pending', { name: 'reads_overdue' })
    const other = alarm('firing', { name: 'of_another_release' })
    const plan = planned([pending, other], [], [])
    expect(plan.forgotten.map(({ name }) => name)).toEqual(['reads_overdue', 'of_another_release'])
    expect(plan).toMatchObject({ alarms: [], sent: [] })
    expect(planned([alarm('firing')], [notice('firing', 1)], ['on'], []).forgottenNotices).toHaveLength(1)
  })

  it('keeps alarms that could not be evaluated, and ends those of removed objects', () => {
    const gone = alarm('firing', { last_at: timeFromMs(NOW - HOUR) })
    expect(planned([gone], [], [])).toMatchObject({ whole: true, alarms: [{ state: 'resolved' }] })
    expect(planOf({ problems: [], names: new Set() }, [gone], [], [], NOW)).toMatchObject({ whole: false, alarms: [], forgotten: [] })
  })
})
