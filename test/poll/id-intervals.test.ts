import { expect, it } from 'vitest'
import { isFinalStatus } from '../../src/poll/id-intervals.ts'

it('trap 60: a bind that failed is under review, and is read on as one under way', () => {
  expect(['bound', 'cancelled', 'declined', 'expired'].map(isFinalStatus)).toEqual([true, true, true, true])
  expect(['drafted', 'submitted', 'sent', 'binder_received', 'bind_failed', 'a new one', null].some(isFinalStatus)).toBe(false)
})
