import { expect, it } from 'vitest'
import { isFinalStatus } from '../../src/poll/id-intervals.ts'

it('trap 60: a failed bind is read like an active one, since it is under review', () => {
  expect(['bound', 'cancelled', 'declined', 'expired'].map(isFinalStatus)).toEqual([true, true, true, true])
  expect(['drafted', 'submitted', 'sent', 'binder_received', 'bind_failed', 'a new one', null].some(isFinalStatus)).toBe(false)
})
