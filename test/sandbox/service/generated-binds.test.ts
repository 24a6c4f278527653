import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { buildParts } from '../../../src/sandbox/service/build.ts'
import { submissionTruth } from '../../../src/sandbox/service/truth.ts'

const START_MS = Date.UTC(2027, 5, 1, 12)

test('a generated bind request was requested at the time of its quote, by the clock of the sandbox', () => {
  const { world } = buildParts({ clock: new ManualClock(START_MS), startMs: START_MS, speed: 1 })
  const binds = [...world.submissions('default').values()].flatMap((submission) => {
    const { bind_requests, events } = submissionTruth(submission, START_MS)
    const quoted = events.filter(({ type }) => type === 'quote_received').map(({ occurred_at }) => occurred_at.slice(0, 23))
    return bind_requests.map(({ requested_at }) => ({ at: String(requested_at).slice(0, 23), quoted }))
  })
  expect(new Set(binds.map(({ at }) => at)).size).toBeGreaterThan(3)
  for (const { at, quoted } of binds) expect(quoted).toContain(at)
})
