import { describe, expect, it } from 'vitest'
import { MASK } from '../../../src/model/masking.ts'
import { redacting } from '../../../src/push/kinds/redacting.ts'
import { json } from '../../upstream/service.ts'
import { destinationTo, itemOf, ok, openKind, secret, sendOne, serve, template } from './support.ts'

const NEVER = new AbortController().signal
const NO_STEP = 'request.url failed: step 1 of $url must be text, and not empty, . or .. (at character 5)'
const REDIRECTED = 'the endpoint answered 302 (no such code); redirects are not followed'
const NO_ID_ERROR = 'the lookup failed: lookup.found must return an id or nothing'
const NO_ID = { type: 'failed', permanent: false, alive: true, error: NO_ID_ERROR }

describe('a templated request', () => {
  it('is built from the change, escaped for its place', async () => {
    const target = await serve()
    const own = {
      request: template(
        '$url(settings.base_url, "clients", "a/b ?#", submission_id, {"v": "3&4", "none": null, "n": seq})',
        '{"id": message_id, "text": after.detail, "from": direction, "seq": seq}',
        { headers: { 'X-Kind': '"change " & entity', 'X-None': 'nothing' } },
      ),
    }
    const outcome = await sendOne(openKind(destinationTo(target.baseUrl, own)))

    expect(outcome).toEqual({ type: 'delivered', status: 200, remoteId: null, detail: null })
    const [request] = target.arrived
    expect(request?.url).toBe(`/api/v1/clients/a%2Fb%20%3F%23/${itemOf().submissionId}?v=3%264&n=7`)
    expect(request?.headers).toMatchObject({ 'x-kind': 'change market_events', 'content-type': 'application/json' })
    expect(request?.headers).not.toHaveProperty('x-none')
    expect(JSON.parse(request?.body ?? '')).toEqual({ id: itemOf().messageId, text: 'Quote "A" & <B>', from: null, seq: 7 })
  })

  it('speaks XML, with the type that its header says', async () => {
    const target = await serve()
    const request = {
      method: 'POST',
      url: 'settings.base_url',
      headers: { SOAPAction: '"urn:add"', 'Content-Type': '"text/xml; charset=utf-8"' },
      format: 'xml' as const,
      body: '{"s:Envelope": {"@xmlns:s": "urn:soap", "s:Body": {"note": {"@of": after.type, "#text": after.detail}}}}',
    }
    await sendOne(openKind(destinationTo(target.baseUrl, { request })))
    const head = '<?xml version="1.0" encoding="utf-8"?><s:Envelope xmlns:s="urn:soap"><s:Body>'
    expect(target.arrived[0]).toMatchObject({
      headers: { 'content-type': 'text/xml; charset=utf-8', soapaction: 'urn:add' },
      body: `${head}<note of="quote_received">Quote "A" &amp; &lt;B&gt;</note></s:Body></s:Envelope>`,
    })
  })

  it('speaks forms', async () => {
    const target = await serve()
    const request = template('settings.base_url', '{"a": after.detail, "b": [1, true]}', { method: 'PUT', format: 'form' })
    await sendOne(openKind(destinationTo(target.baseUrl, { request })))

    expect(target.arrived[0]?.method).toBe('PUT')
    expect([...new URLSearchParams(target.arrived[0]?.body)]).toEqual([
      ['a', 'Quote "A" & <B>'],
      ['b', '1'],
      ['b', 'true'],
    ])
  })

  it.each([
    ['url', 'after.detail', 'request.url did not return a URL'],
    ['url', '$url(settings.base_url, "..")', NO_STEP],
    ['url', '$url(settings.base_url, mapping.client)', NO_STEP],
    ['body', 'mapping.client', 'the body expression returned nothing'],
    ['body', '$number(after.detail)', 'request.body failed: Unable to cast value to a number: … (at character 8)'],
    ['body', '$error("no client " & seq)', 'request.body failed: no client 7'],
  ])('whose %s is `%s` fails for good, without data of the change in its sentence', async (key, text, error) => {
    const target = await serve()
    const base = destinationTo(target.baseUrl)
    const outcome = await sendOne(openKind({ ...base, request: { ...base.request, [key]: text } }))

    expect(outcome).toEqual({ type: 'failed', permanent: true, alive: null, status: null, error, retryAfterMs: null })
    expect(target.arrived).toEqual([])
  })

  it.each(['"a\\r\\nb: c"', 'seq'])('has nothing but plain text in a header: %s', async (text) => {
    const target = await serve()
    const request = { ...destinationTo('').request, headers: { 'x-note': text } }
    const failed = { permanent: true, error: 'request.headers.x-note did not return plain text' }
    expect(await sendOne(openKind(destinationTo(target.baseUrl, { request })))).toMatchObject(failed)
    expect(target.arrived).toEqual([])
  })

  it('is another one when the target knows the record already', async () => {
    const target = await serve((request, response) => json(response, { id: request.method === 'POST' ? 41 : 42 }))
    const base = destinationTo(target.baseUrl)
    const update = { ...base.request, method: 'PATCH', url: '$url(settings.base_url, "notes", remote_id)' }
    const kind = openKind({ ...base, update, remoteId: 'body.id' })

    expect(await sendOne(kind)).toMatchObject({ type: 'delivered', remoteId: '41' })
    expect(await sendOne(kind, itemOf({ remoteId: '41' }))).toMatchObject({ type: 'delivered', remoteId: '42' })
    expect(target.arrived.map(({ method, url }) => `${method} ${url}`)).toEqual([
      `POST /api/v1/notes/${itemOf().submissionId}`,
      'PATCH /api/v1/notes/41',
    ])
  })

  it('bears no credentials over plain http, where private addresses are not allowed', async () => {
    const target = await serve()
    const auth = { type: 'bearer', token: secret('abc') } as const
    const outcome = await sendOne(openKind(destinationTo(target.baseUrl, { auth, allowPrivate: false })))
    expect(outcome).toMatchObject({ type: 'suspend', error: expect.stringContaining('is plain http') })
    expect(target.arrived).toEqual([])
  })
})

describe('an answer', () => {
  it.each([
    [400, {}, { type: 'failed', permanent: true, alive: true, status: 400, error: 'answered 400 (no such code)' }],
    [404, {}, { type: 'suspend', retry: 'soon', error: 'the endpoint answered 404 (no such code)' }],
    [410, {}, { type: 'suspend', retry: 'manually' }],
    [422, {}, { type: 'suspend', status: 422 }],
    [302, { location: 'http://127.0.0.1:1/' }, { type: 'suspend', retry: 'soon', error: REDIRECTED }],
    [408, {}, { type: 'failed', permanent: false, alive: true }],
    [429, { 'retry-after': '30' }, { type: 'failed', permanent: false, alive: true, retryAfterMs: 30_000 }],
    [409, { 'retry-after': '1' }, { type: 'failed', permanent: false, retryAfterMs: 1_000 }],
    [500, {}, { type: 'failed', permanent: false, alive: false }],
    [503, { 'retry-after': '9' }, { type: 'failed', permanent: false, alive: false, retryAfterMs: 9_000 }],
    [502, {}, { type: 'unknown', error: 'answered 502 (no such code): the system behind the gateway may have accepted the change' }],
    [504, { 'retry-after': '20' }, { type: 'unknown', retryAfterMs: 20_000 }],
    [403, {}, { type: 'suspend', status: 403 }],
  ])('of %i is judged by its class', async (status, headers, expected) => {
    const target = await serve((_, response) => json(response, { detail: 'no such code' }, status, headers))
    expect(await sendOne(openKind(destinationTo(target.baseUrl, { suspendOn: [422] })))).toMatchObject(expected)
  })

  it.each([
    [500, { status: 500, error: 'answered 500 (no such code); the change may have been accepted' }],
    [503, { status: 503 }],
    [408, { status: 408 }],
    [
      200,
      { status: 200, error: 'answered 200 (no such code), which does not count as success (success); the change may have been accepted' },
    ],
  ])('of %i leaves it open whether the message was taken, where that can be asked', async (status, expected) => {
    const target = await serve((_, response) => json(response, { detail: 'no such code' }, status))
    const { request } = destinationTo(target.baseUrl)
    const asking = { success: 'body.ok', lookup: { ...request, found: 'body.id' } }
    const outcome = (over = {}) => sendOne(openKind(destinationTo(target.baseUrl, { ...asking, ...over })))
    expect(await outcome({ idempotent: false })).toMatchObject({ type: 'unknown', ...expected })
    expect(await outcome({ idempotent: true })).toMatchObject({ type: 'failed', permanent: false, status })
    expect(await outcome({ idempotent: false, lookup: null })).toMatchObject({ type: 'failed', permanent: false, status })
  })

  it('that never comes leaves the outcome unknown; one that was never requested does not', async () => {
    const silent = await serve(() => {})
    expect(await sendOne(openKind(destinationTo(silent.baseUrl, { timeoutMs: 3_000 })))).toMatchObject({ type: 'unknown' })
    const reset = await serve((_, response) => response.socket?.destroy())
    expect(await sendOne(openKind(destinationTo(reset.baseUrl)))).toMatchObject({ type: 'unknown' })
    const closed = await serve()
    const { baseUrl } = closed
    await closed.close()
    const outcome = await sendOne(openKind(destinationTo(baseUrl)))
    expect(outcome).toMatchObject({ type: 'failed', permanent: false, alive: false, status: null })
  })

  it('is a success or a duplicate as the conditions say', async () => {
    const answers = [{ ok: false }, { ok: true, id: 'n1' }, { ok: false, code: 'exists', id: 'n0' }]
    const target = await serve((_, response) => json(response, answers.shift(), 200, { 'retry-after': '7' }))
    const kind = openKind(destinationTo(target.baseUrl, { success: 'body.ok', duplicate: 'body.code = "exists"', remoteId: 'body.id' }))

    expect(await sendOne(kind)).toMatchObject({ type: 'failed', permanent: false, alive: true, status: 200, retryAfterMs: 7_000 })
    expect(await sendOne(kind)).toEqual({ type: 'delivered', status: 200, remoteId: 'n1', detail: null })
    expect(await sendOne(kind)).toEqual({ type: 'delivered', status: 200, remoteId: 'n0', detail: 'the target already had the record' })
  })

  it('that its conditions cannot judge is unknown, and known when only the remote id is missing', async () => {
    const target = await serve((_, response) => ok(response))
    const judged = await sendOne(openKind(destinationTo(target.baseUrl, { success: '$error("what is this")' })))
    expect(judged).toEqual({ type: 'unknown', status: 200, error: 'answered 200, but success failed: what is this' })
    const taken = await sendOne(openKind(destinationTo(target.baseUrl, { remoteId: '$error("no id")' })))
    expect(taken).toEqual({
      type: 'delivered',
      status: 200,
      remoteId: null,
      detail: 'the id of the record was not stored, because remote_id failed: no id',
    })
  })
})

describe('looking up', () => {
  const lookup = {
    ...template('$url(settings.base_url, "notes", {"ref": message_id})', null),
    found: '$count(body.notes) > 1 ? $error("several have it") : body.notes[ref = $$.item.message_id].id',
  }

  it.each([
    [200, { notes: [{ id: 'n1', ref: itemOf().messageId }] }, { type: 'delivered', status: 200, remoteId: 'n1' }],
    [200, { notes: [{ id: 'n1', ref: 'another' }] }, null],
    [404, {}, null],
    [410, {}, null],
    [200, { notes: [1, 2] }, { type: 'failed', permanent: false, error: 'the lookup failed: lookup.found failed: several have it' }],
    [400, {}, { type: 'failed', permanent: false, alive: true, retryAfterMs: 3_000 }],
    [500, {}, { type: 'failed', permanent: false, alive: false }],
    [502, {}, { type: 'failed', permanent: false, alive: false, retryAfterMs: 3_000 }],
    [403, {}, { type: 'suspend' }],
  ])('answers %i with %j', async (status, body, expected) => {
    const target = await serve((_, response) => json(response, body, status, { 'retry-after': '3' }))
    const kind = openKind(destinationTo(target.baseUrl, { lookup, suspendOn: [403] }))
    const found = await kind.lookUp?.(itemOf(), NEVER)
    if (expected === null) expect(found).toBeNull()
    else expect(found).toMatchObject(expected)
    expect(target.arrived[0]?.url).toBe(`/api/v1/notes?ref=${itemOf().messageId}`)
  })

  it.each([
    ['body.notes[0].id', null],
    ['body.notes[0].id & ""', null],
    ['$count(body.notes) > 0', null],
    ['null', null],
    ['$count(body.notes) = 0', { type: 'delivered', status: 200, remoteId: null }],
    ['body', { type: 'delivered', status: 200, remoteId: null }],
    ['$count(body.notes)', NO_ID],
    ['[body.notes.id]', NO_ID],
    ['{ "id": body.notes.id }', NO_ID],
  ])('takes what `%s` makes of no note for %j', async (found, expected) => {
    const target = await serve((_, response) => json(response, { notes: [] }))
    const outcome = await openKind(destinationTo(target.baseUrl, { lookup: { ...lookup, found } })).lookUp?.(itemOf(), NEVER)
    if (expected === null) expect(outcome).toBeNull()
    else expect(outcome).toMatchObject(expected)
  })

  it('is not offered without a configured request', async () => {
    expect(openKind(destinationTo('http://127.0.0.1:1')).lookUp).toBeUndefined()
  })
})

describe('a probe', () => {
  const probe = template('$url(settings.base_url, "me")', null)

  it.each([
    [200, true, 'answered 200: the destination accepts the credentials'],
    [401, false, 'answered 401: the destination rejects the credentials; compare auth with the credentials from the vendor'],
    [
      403,
      false,
      'answered 403: the credentials are valid but lack the right for this request; ask the agency whether it still allows access',
    ],
    [404, false, 'answered 404: compare the URL and the settings of the destination with those from the vendor'],
    [500, false, 'answered 500: the server failed; try again later'],
  ])('explains %i', async (status, good, text) => {
    const target = await serve((_, response) => json(response, {}, status))
    expect(await openKind(destinationTo(target.baseUrl, { probe })).probe(NEVER)).toEqual({ ok: good, text })
  })

  it('takes the page of a portal or of a proxy for no answer of the vendor', async () => {
    const target = await serve((_, response) => response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html>'))
    const text = 'answered 200 with a web page; compare the URL and the settings of the destination with those from the vendor'
    expect(await openKind(destinationTo(target.baseUrl, { probe })).probe(NEVER)).toEqual({ ok: false, text })
  })

  it('says so when there is none', async () => {
    const result = await openKind(destinationTo('http://127.0.0.1:1')).probe(NEVER)
    expect(result).toEqual({ ok: null, text: 'no harmless request is configured; set probe' })
  })
})

describe('a preview', () => {
  it.each([
    [{ type: 'bearer', token: secret('the-token') }, { authorization: `Bearer ${MASK}` }],
    [{ type: 'basic', username: 'ann', password: secret('the-token') }, { authorization: `Basic ${MASK}` }],
    [{ type: 'header', name: 'X-Api-Key', value: secret('the-token') }, { 'x-api-key': MASK }],
    [null, {}],
  ] as const)('names the header of the credential, and masks it: %j', async (auth, headers) => {
    const kind = openKind(destinationTo('http://unused.example', { auth }))
    expect((await kind.preview?.(itemOf()))?.headers).toEqual({ 'content-type': 'application/json', ...headers })
  })

  it('is the request that would be sent, with masked credentials and secrets, and nothing is sent', async () => {
    const { baseUrl, arrived } = await serve((_, response) => response.end('{}'))
    const auth = { type: 'bearer', token: secret('the-token-of-the-target') } as const
    const destination = destinationTo(baseUrl, { auth, update: { ...destinationTo('').request, method: 'PATCH' }, remoteId: 'body.id' })
    const kind = redacting(openKind(destination), ['quote_received'])
    expect(await kind.preview?.(itemOf())).toEqual({
      method: 'POST',
      url: `${baseUrl}/notes/${itemOf().submissionId}`,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${MASK}` },
      body: JSON.stringify({ id: itemOf().messageId, text: itemOf().after?.['detail'] }),
    })
    expect(await kind.preview?.(itemOf({ remoteId: '7', after: { detail: 'quote_received' } }))).toMatchObject({
      method: 'PATCH',
      body: expect.not.stringContaining('quote_received'),
    })
    expect(arrived).toEqual([])
  })

  it('names the template that fails', async () => {
    const { baseUrl } = await serve((_, response) => response.end('{}'))
    const broken = openKind(destinationTo(baseUrl, { request: { ...destinationTo('').request, url: '$url(settings.none, "x")' } }))
    await expect(broken.preview?.(itemOf())).rejects.toThrow(/^request\.url failed: /)
  })
})
