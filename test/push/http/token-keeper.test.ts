import { expect, it } from 'vitest'
import { type Clock, ManualClock, systemClock } from '../../../src/base/clock.ts'
import { exchangeToken } from '../../../src/push/http/token-endpoint.ts'
import { TokenKeeper } from '../../../src/push/http/token-keeper.ts'
import type { OutgoingRequest, Transport, TransportResult } from '../../../src/push/transport/transport.ts'
import { passwordAuth } from './support.ts'

/** A keeper of tokens from this transport. */
function keeperWith(transport: Transport, clock: Clock) {
  return new TokenKeeper(() => exchangeToken(passwordAuth('https://ams.example.com/token'), transport, 5_000), clock)
}

const answer = (status: number, body: unknown): TransportResult => ({
  type: 'answer',
  status,
  headers: {},
  body: typeof body === 'string' ? body : JSON.stringify(body),
  cut: null,
  retryAfterMs: null,
})

it('an exchange has the whole time of a try, however little of it is left to the first who waits for it', async () => {
  const requests: OutgoingRequest[] = []
  const answered = Promise.withResolvers<TransportResult>()
  const transport: Transport = {
    send: (request) => {
      requests.push(request)
      return answered.promise
    },
    close: () => Promise.resolve(),
  }
  const keeper = keeperWith(transport, systemClock)
  const { signal } = new AbortController()
  const late = keeper.headers(1, signal)
  const early = keeper.headers(60_000, signal)
  const failure = { type: 'failed', permanent: false, alive: false, error: 'no token: no complete answer within 1 ms' }
  expect(await late).toMatchObject({ failure })
  answered.resolve(answer(200, { access_token: 't' }))
  expect(await early).toEqual({ headers: { authorization: 'Bearer t' } })
  expect(requests.map(({ timeoutMs }) => timeoutMs)).toEqual([5_000])
})

function keeperOf(result: TransportResult, clock = new ManualClock()) {
  let asked = 0
  const send = async () => {
    asked += 1
    return result
  }
  const keeper = keeperWith({ send, close: () => Promise.resolve() }, clock)
  return { headers: () => keeper.headers(5_000, new AbortController().signal), asked: () => asked }
}

it.each([
  [1_000, 0, 900],
  [1_000, 0.5, 850],
  ['1000', 0.5, 850],
  // An answer without a lifetime: five minutes.
  [undefined, 0.5, 255],
  [null, 0.5, 255],
  [0, 0.5, 255],
  [-60, 0.5, 255],
  ['soon', 0.5, 255],
])('a token that is said to last %j seconds is used, with chance at %d, for %d', async (expiresIn, chance, seconds) => {
  const clock = new ManualClock(0, () => chance)
  const { headers, asked } = keeperOf(answer(200, { access_token: 't', expires_in: expiresIn }), clock)
  await headers()
  clock.advance(seconds * 1_000 - 1)
  await headers()
  expect(asked()).toBe(1)
  clock.advance(1)
  await headers()
  expect(asked()).toBe(2)
})

const refused = { type: 'suspend' }
const passes = (alive: boolean) => ({ type: 'failed', permanent: false, alive })

it.each<[string, TransportResult, object]>([
  ['refuses who is asking', answer(403, {}), { ...refused, status: 403 }],
  ['refuses the password', answer(400, { error: 'invalid_grant' }), { ...refused, status: 400 }],
  ['refuses the way of asking', answer(400, { error: 'unauthorized_client' }), { ...refused, status: 400 }],
  ['says nothing of why it refuses', answer(400, 'no'), { ...passes(true), status: 400 }],
  ['is broken', answer(500, { error: 'invalid_grant' }), { ...passes(false), status: 500 }],
  ['yields no object', answer(200, 'null'), passes(true)],
  ['yields no text', answer(200, { access_token: 1 }), passes(true)],
  ['says too much', { ...answer(200, '{'), cut: { isTooLong: true, text: 'is long' } } as TransportResult, passes(true)],
  ['breaks off', { ...answer(200, '{'), cut: { isTooLong: false, text: 'ends' } } as TransportResult, passes(false)],
  ['may not be asked', { type: 'not_sent', error: 'no', permanent: true }, passes(false)],
  ['cannot be reached', { type: 'not_sent', error: 'no', permanent: false }, passes(false)],
  ['does not answer', { type: 'no_answer', error: 'no' }, passes(false)],
])(
  'a token endpoint that %s gives no token, and is asked again for the next message unless it refuses the credentials',
  async (_, result, failure) => {
    const { headers, asked } = keeperOf(result)
    expect(await headers()).toMatchObject({ failure })
    await headers()
    expect(asked()).toBe('type' in failure && failure.type === 'suspend' ? 1 : 2)
  },
)

it('returns nothing to a caller that has canceled, or cancels while it waits', async () => {
  const keeper = keeperWith({ send: () => new Promise(() => {}), close: () => Promise.resolve() }, systemClock)
  const given = { failure: { type: 'failed', permanent: false, alive: null, error: 'sending was stopped before this request' } }
  expect(await keeper.headers(5_000, AbortSignal.abort())).toMatchObject(given)
  const stop = new AbortController()
  const waiting = keeper.headers(60_000, stop.signal)
  stop.abort()
  expect(await waiting).toMatchObject(given)
})
