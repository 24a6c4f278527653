import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { type FetchedToken, readTokenAnswer, type TokenContext, TokenHolder } from '../../src/base/token-holder.ts'

/** Fetches token 1, token 2, … and knows how many. */
function counting(expiresInSeconds: number | null, renewAfter?: number) {
  let fetched = 0
  const fetch = async () => ({ token: `token ${++fetched}`, expiresInSeconds })
  return { holder: new TokenHolder<FetchedToken, TokenContext>(fetch, renewAfter), fetched: () => fetched }
}

test('callers during a fetch get the same token', async () => {
  const { holder, fetched } = counting(60)
  const context = { clock: new ManualClock() }
  expect(holder.usable).toBeNull()
  const tokens = await Promise.all([1, 2, 3].map(() => holder.get(context)))
  expect(new Set(tokens.map(({ token }) => token))).toEqual(new Set(['token 1']))
  expect(holder.usable?.token).toBe('token 1')
  expect(fetched()).toBe(1)
})

test.each([
  [0, 90],
  [0.5, 85],
])('with chance at %d a token of 100 seconds is renewed after %d, and used until the next one arrives', async (chance, seconds) => {
  const clock = new ManualClock(0, () => chance)
  const { holder } = counting(100, 0.9)
  await holder.get({ clock })
  clock.advance(seconds * 1_000 - 1)
  expect(holder.usable?.token).toBe('token 1')
  clock.advance(1)
  expect(holder.usable).toBeNull()
  expect(holder.held?.token).toBe('token 1')
  expect((await holder.get({ clock })).token).toBe('token 2')
})

test('with a clock without randomness, a token is used for its whole lifetime', async () => {
  let nowMs = 0
  const context = { clock: { now: () => nowMs } }
  const { holder } = counting(10)
  await holder.get(context)
  nowMs = 9_999
  expect((await holder.get(context)).token).toBe('token 1')
  nowMs = 10_000
  expect((await holder.get(context)).token).toBe('token 2')
})

test('a token without expiry is used until it is rejected; a late rejection costs no fetch', async () => {
  const clock = new ManualClock()
  const { holder, fetched } = counting(null)
  const { token } = await holder.get({ clock })
  clock.advance(86_400_000 * 365)
  expect((await holder.get({ clock })).token).toBe(token)
  expect(holder.forget(token)?.token).toBe(token)
  expect((await holder.get({ clock })).token).toBe('token 2')
  expect(holder.forget(token)).toBeNull()
  expect((await holder.get({ clock })).token).toBe('token 2')
  expect(fetched()).toBe(2)
})

test('the next caller after a failed fetch fetches again', async () => {
  let isDown = true
  const holder = new TokenHolder(async (_: TokenContext) => {
    if (isDown) throw new Error('refused')
    return { token: 'token', expiresInSeconds: null }
  })
  const context = { clock: new ManualClock() }
  const waiting = [holder.get(context), holder.get(context)]
  for (const each of waiting) await expect(each).rejects.toThrow('refused')
  isDown = false
  expect((await holder.get(context)).token).toBe('token')
})

test('an answer may contain the lifetime in any form', () => {
  const lifetime = (expires_in: unknown) => readTokenAnswer({ access_token: 't', expires_in })?.expiresInSeconds
  expect([60, '60', 60.5].map(lifetime)).toEqual([60, 60, 60.5])
  for (const value of [undefined, null, '', ' ', 'soon', 0, -1, [], {}]) expect(lifetime(value)).toBeNull()
  for (const answer of [null, 'text', {}, { access_token: 'a b' }, { access_token: 1 }]) expect(readTokenAnswer(answer)).toBeNull()
})
