import { expect, it } from 'vitest'
import { ManualClock, systemClock } from '../../../src/base/clock.ts'
import { progressLine, ReconcileScreen } from '../../../src/ops/cli/reconcile-screen.ts'
import { runEnd, worstExit } from '../../../src/reconcile/run/outcome.ts'
import type { RunCounts } from '../../../src/store/reconcile/runs.ts'
import { run } from '../report/sample.ts'

const counts = (over: Partial<RunCounts> = {}): RunCounts => ({
  submissions_total: 10,
  submissions_done: 10,
  rows_compared: 0,
  missing: 0,
  different: 0,
  absent: 0,
  unreadable: 0,
  undelivered: 0,
  lost: 0,
  moved: 0,
  repaired: 0,
  known: 0,
  ...over,
})
const done = { state: 'done', note: null } as const
const budget = { state: 'budget', note: null } as const

it.each([
  ['no findings', done, counts(), 0],
  ['all that was found is repaired', done, counts({ missing: 2, absent: 1, repaired: 3 }), 0],
  ['remaining findings of earlier runs do not count', done, counts({ known: 5 }), 0],
  ['something is left', done, counts({ missing: 2 }), 3],
  ['a push never arrived', done, counts({ undelivered: 1 }), 3],
  ['the change log has a hole', done, counts({ lost: 1 }), 3],
  ['the budget ended', budget, counts({ missing: 2 }), 4],
  ['something could not be checked', budget, counts({ unreadable: 1, missing: 2 }), 1],
  ['it could not go on', { state: 'failed', note: 'x' } as const, counts(), 1],
])('the exit code of a run: %s', (_, stop, found, code) => {
  expect(runEnd(stop, found).exitCode).toBe(code)
})

it('the worst exit code of several runs counts: 1, 4, 3, then 0', () => {
  expect([worstExit([]), worstExit([0, 3]), worstExit([3, 4, 0]), worstExit([4, 1, 3])]).toEqual([0, 3, 4, 1])
})

it('shows progress, speed and remaining time on a terminal only', () => {
  expect(progressLine('acme', counts({ submissions_total: 100, submissions_done: 25, missing: 2, known: 1 }), 5)).toBe(
    'acme: 25 of 100 submissions checked (25 %), 5.0 per second, about 15 s left; 2 findings',
  )
  let written = ''
  const screen = new ReconcileScreen({ isTTY: false, write: (text) => (written += text) }, systemClock)
  screen.clear()
  expect(written).toBe('')
})

it('fits one line of any terminal, and keeps its rate if the clock is set back', () => {
  const clock = new ManualClock()
  let written = ''
  const screen = new ReconcileScreen({ isTTY: true, columns: 80, write: (text) => (written += text) }, clock)
  const shown = (done: number) => {
    written = ''
    screen.show(run({ account: 'production' }), counts({ submissions_total: 200_000, submissions_done: done, missing: 1 }))
    return written
  }
  shown(100_000)
  clock.put(-3_600_000)
  clock.advance(10_000)
  expect(shown(101_000)).toBe('\r\u001b[2Kproduction: 101000 of 200000 submissions checked (50 %), 100 per second, about…')
})
