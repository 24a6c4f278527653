import { expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { TokenKeeper } from '../../../src/push/http/token-keeper.ts'
import type { OutgoingRequest, Transport, TransportResult } from '../../../src/push/transport.ts'
import { secret } from './support.ts'

const config = {
  type: 'password' as const,
  ...{ tokenUrl: 'https://ams.example.com/token', username: 'u', password: secret('p') },
  ...{ clientId: null, clientSecret: null, scope: null },
}

it('an exchange has the whole time of a try, however little of it is left to the first who waits for it', async () => {
  const requests: OutgoingRequest[] = []
  const answer = Promise.withResolvers<TransportResult>()
  const transport: Transport = {
    send: (request) => {
      requests.push(request)
      return answer.promise
    },
    close: () => Promise.resolve(),
  }
  const keeper = new TokenKeeper(config, transport, systemClock, 5_000)
  const { signal } = new AbortController()
  const late = keeper.headers(1, signal)
  const early = keeper.headers(60_000, signal)
  const failure = { type: 'failed', permanent: false, alive: false, error: 'no token: no whole answer within 1 ms' }
  expect(await late).toMatchObject({ failure })
  const body = '{"access_token": "t"}'
  answer.resolve({ type: 'answer', status: 200, headers: {}, body, cut: null, retryAfterMs: null })
  expect(await early).toEqual({ headers: { authorization: 'Bearer t' } })
  expect(requests.map(({ timeoutMs }) => timeoutMs)).toEqual([5_000])
})
