import { expect, test } from 'vitest'
import { TransientError } from '../../../src/base/errors.ts'
import type { PushItem } from '../../../src/push/contract/delivery.ts'
import { redacting } from '../../../src/push/kinds/redacting.ts'
import { destinationTo, itemOf, openKind, secret, sendOne, serve } from '../http/support.ts'
import { testKind } from '../kind.ts'

const KEY = 'open sesame'
const never = new AbortController().signal
const item: PushItem = itemOf()

test('an error of a target that repeats its key is masked', async () => {
  const target = await serve((request, response) => {
    const error = `invalid API key: ${request.headers['x-api-key']}`
    response.writeHead(422, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
  })
  const request = { method: 'GET', url: '$url(settings.base_url, "me")', headers: {}, format: 'json', body: null } as const
  const auth = { type: 'header', name: 'X-Api-Key', value: secret(KEY) } as const
  const kind = redacting(openKind(destinationTo(target.baseUrl, { auth, probe: request })), [KEY])
  expect(await sendOne(kind)).toMatchObject({ status: 422, error: 'answered 422 (invalid API key: [redacted])' })
  const { text } = await kind.probe(never)
  expect(text).toContain('[redacted]')
  expect(text).not.toContain(KEY)
})

test('so are lookups of a message and of a client, with any result; ids of the target stay unchanged', async () => {
  const says = `no such thing as ${KEY}`
  const failed = { type: 'failed', permanent: false, alive: true, status: 500, error: says, retryAfterMs: null } as const
  const kind = redacting(
    testKind({
      send: () => ({ type: 'delivered', status: 200, remoteId: KEY, detail: says }),
      lookUp: () => failed,
      findMapping: () => Promise.reject(new TransientError(says)),
    }),
    [KEY],
  )
  const masked = 'no such thing as [redacted]'
  expect(await sendOne(kind)).toMatchObject({ type: 'delivered', remoteId: KEY, detail: masked })
  expect(await kind.lookUp?.(item, never)).toMatchObject({ error: masked })
  await expect(kind.findMapping?.(item, never)).rejects.toThrow(masked)
})

test('the answer that is stored for a second request has it masked, too', async () => {
  const progress = { step: 'record_taken', answered: 'request', origin: 'http://ams', body: KEY, isWhole: true, detail: KEY } as const
  const kind = redacting(testKind({ send: () => ({ type: 'record_taken', status: 201, remoteId: 'r-1', progress }) }), [KEY])
  expect(await sendOne(kind)).toMatchObject({ remoteId: 'r-1', progress: { ...progress, body: '[redacted]', detail: '[redacted]' } })
})

test('a kind that cannot look stays one', () => {
  const plain = testKind()
  expect(redacting(plain, [KEY])).toMatchObject({ lookUp: undefined, findMapping: undefined })
})

test('one that never looks at the submission stays one, so that none is read for it', () => {
  expect(redacting({ ...testKind(), withoutSubmission: true }, [KEY]).withoutSubmission).toBe(true)
  expect(redacting(testKind(), [KEY]).withoutSubmission).toBeUndefined()
})

test('closing it closes the kind', async () => {
  let closed = 0
  const close = async () => {
    closed += 1
  }
  await redacting({ ...testKind(), close }, [KEY]).close()
  expect(closed).toBe(1)
})
