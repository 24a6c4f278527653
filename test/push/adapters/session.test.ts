import { expect, test } from 'vitest'
import type { Steps } from '../../../src/push/adapters/adapter.ts'
import { Session } from '../../../src/push/adapters/session.ts'

const unasked = () => Promise.reject(new Error('nothing is asked'))
const steps: Steps = { query: unasked, submit: unasked, independent: () => steps, wait: (work) => work }

test('a ticket that is refused late, when there is a new one already, costs no sign-in', async () => {
  let signedIn = 0
  const signIn = async () => `ticket ${++signedIn}`
  const session = new Session()
  const old = await session.ticket(steps, signIn)
  session.drop(old)
  expect(await session.ticket(steps, signIn)).toBe('ticket 2')
  session.drop(old)
  expect(await session.ticket(steps, signIn)).toBe('ticket 2')
})

test('who asks after a sign-in that failed signs in anew', async () => {
  const session = new Session()
  await expect(session.ticket(steps, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
  expect(await session.ticket(steps, async () => 'ticket')).toBe('ticket')
})
