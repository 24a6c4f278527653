import { expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { OnceAMinute } from '../../src/base/once-a-minute.ts'

it('reports a frequent event once a minute, with the number of suppressed reports', () => {
  const clock = new ManualClock(0)
  const said: string[] = []
  const often = new OnceAMinute(clock, (text) => said.push(text))
  for (const text of ['first', 'second', 'third']) often.tell(text)
  clock.advance(60_000)
  often.tell('fourth')
  clock.advance(60_000)
  often.tell('fifth')
  expect(said).toEqual(['first', 'fourth (2 more since this was last logged)', 'fifth'])
})
