import { describe, expect, it } from 'vitest'
import { Refusals, submissionsToProbe } from '../../src/poll/refusals.ts'

describe('trap 43: refusals in a row', () => {
  it('are investigated once there are ten, of any submissions, and only once', () => {
    const refusals = new Refusals()
    for (let n = 0; n < 9; n += 1) refusals.note(`${n % 3}`)
    expect(refusals.take()).toBeNull()
    refusals.note('3')
    expect(refusals.take()).toEqual(new Set(['0', '1', '2', '3']))
    expect(refusals.take()).toBeNull()
  })

  it('restart after a successful read', () => {
    const refusals = new Refusals()
    for (let n = 0; n < 9; n += 1) refusals.note(`${n}`)
    refusals.clear()
    refusals.note('9')
    expect(refusals.take()).toBeNull()
  })

  it('are compared with other submissions, up to ten in total, and the last refused one', () => {
    const known = Array.from({ length: 20 }, (_, n) => `${n}`)
    expect(submissionsToProbe(new Set(['0', '2']), known)).toEqual(['1', '3', '4', '5', '6', '7', '8', '9', '2'])
    expect(submissionsToProbe(new Set(known.slice(0, 12)), known)).toEqual(['11'])
    expect(submissionsToProbe(new Set(['0']), ['0'])).toEqual(['0'])
  })
})
