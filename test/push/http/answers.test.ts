import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { HttpDestination } from '../../../src/config/config.ts'
import type { Outcome, PushItem } from '../../../src/push/contract/delivery.ts'
import { destinationTo, itemOf, openKind, passwordAuth, sendOne, serve, template } from './support.ts'

const DEEP = `{"id": ${'['.repeat(5_000)}${']'.repeat(5_000)}}`
/** Text of a megabyte whose values would take a hundred times as much. */
const FULL = `{"id": 1, "list": [${'{},'.repeat(350_000)}{}]}`
/** Longest answer with this many requests in flight; a small one keeps the test short. */
const [MANY, LIMIT] = [256, 64 * 1024]

const lookup = { ...template('$url(settings.base_url, "notes")', null), found: 'body.notes[ref = $$.item.message_id].id' }

async function answering(body: string, own: Partial<HttpDestination> = {}, status = 200): Promise<HttpDestination> {
  const { baseUrl } = await serve((_, response) => response.writeHead(status).end(body))
  return destinationTo(baseUrl, own)
}

async function sent(body: string, own: Partial<HttpDestination>, status = 200, item?: PushItem): Promise<Outcome> {
  return await sendOne(openKind(await answering(body, own, status)), item)
}

async function lookedUp(body: string, own: Partial<HttpDestination> = {}, status = 200): Promise<Outcome | null | undefined> {
  return await openKind(await answering(body, { lookup, ...own }, status)).lookUp?.(itemOf(), new AbortController().signal)
}

const padded = (length: number) => {
  const notes = [{ id: 'n1', ref: itemOf().messageId }]
  return JSON.stringify({ padding: 'x'.repeat(length), notes, id: 7, ok: true })
}

interface Unreadable {
  readonly name: string
  readonly why: string
  readonly answer: (response: ServerResponse, status: number) => void
  readonly hint?: string
  readonly alive?: boolean
  readonly token: string
}
const unreadable: readonly Unreadable[] = [
  {
    name: 'nests too deep',
    why: 'the answer is nested deeper than 500 levels',
    answer: (response, status) => response.writeHead(status).end(DEEP),
    token: 'the token endpoint answered 200 without an access_token',
  },
  {
    name: 'is longer than what is read of it',
    why: `the answer is longer than ${LIMIT} bytes`,
    answer: (response, status) => response.writeHead(status).end(padded(LIMIT)),
    hint: '; narrow the lookup',
    token: `the token endpoint's answer is longer than ${LIMIT} bytes`,
  },
  {
    name: 'breaks off',
    why: 'the answer broke off',
    answer: (response, status) => {
      response.writeHead(status, { 'content-length': '100' }).write('{"id": 7}')
      response.socket?.end()
    },
    alive: false,
    token: "the token endpoint's answer broke off",
  },
]

describe.each(unreadable)('an answer that $name', ({ why, answer, hint = '', alive = true, token }) => {
  const open = async (own: (baseUrl: string) => Partial<HttpDestination>, status = 200) => {
    const { baseUrl } = await serve((_, response) => answer(response, status))
    return openKind(destinationTo(baseUrl, { concurrency: MANY, ...own(baseUrl) }))
  }
  const sentTo = async (own: Partial<HttpDestination>, status?: number) => await sendOne(await open(() => own, status))

  it('is what its status says where that decides, and gives no id', async () => {
    const taken = { type: 'delivered', status: 200, remoteId: null }
    expect(await sentTo({})).toEqual({ ...taken, detail: null })
    expect(await sentTo({ duplicate: 'body.had' })).toEqual({ ...taken, detail: null })
    expect(await sentTo({ remoteId: 'body.id' })).toEqual({ ...taken, detail: `the id of the record was not stored, because ${why}` })
    for (const own of [{ success: 'body.ok' }, { duplicate: 'body.code = "exists"' }])
      expect(await sentTo(own, 422)).toMatchObject({ type: 'failed', permanent: true, status: 422 })
  })

  it('is unknown where its content decides', async () => {
    const unknown = { type: 'unknown', status: 200, error: `answered 200, but ${why}` }
    for (const own of [{ success: 'body.ok' }, { success: 'false', duplicate: 'body.had' }]) expect(await sentTo(own)).toEqual(unknown)
  })

  it('does not say that a change is not there', async () => {
    const error = `the lookup failed: ${why}${hint}`
    const found = await (await open(() => ({ lookup }))).lookUp?.(itemOf(), new AbortController().signal)
    expect(found).toEqual({ type: 'failed', permanent: false, alive, status: null, error, retryAfterMs: null })
  })

  it('gives no token', async () => {
    const kind = await open((baseUrl) => ({ auth: passwordAuth(`${baseUrl}/token`) }))
    expect(await sendOne(kind)).toMatchObject({ type: 'failed', permanent: false, alive, error: `no token: ${token}` })
  })
})

describe('an answer', () => {
  it('that nests too deep harms no other', async () => {
    const { baseUrl } = await serve((request, response) => response.end(request.body.includes('bad') ? DEEP : '{"ok": true}'))
    const kind = openKind(destinationTo(baseUrl, { success: 'body.ok' }))
    const texts = ['bad', 'good', 'bad', 'good', 'good']
    const outcomes = await Promise.all(texts.map((detail) => sendOne(kind, itemOf({ after: { detail } }))))
    expect(outcomes.map(({ type }) => type)).toEqual(['unknown', 'delivered', 'unknown', 'delivered', 'delivered'])
  })

  it('that holds too much is unknown', async () => {
    const outcome = { type: 'unknown', status: 200, error: 'answered 200, but the answer contains more than 250000 values' }
    expect(await sent(FULL, { success: 'body.id = 1' })).toEqual(outcome)
  })

  it('is read to four MiB if few requests are in progress', async () => {
    expect(await lookedUp(padded(3_000_000))).toMatchObject({ type: 'delivered', remoteId: 'n1' })
    expect(await lookedUp(padded(4 * 1024 * 1024))).toMatchObject({ error: expect.stringContaining('longer than 4194304 bytes') })
  })
})

describe('the id of the record', () => {
  it.each([
    ['9007199254740993', '9007199254740993'],
    ['-12345678901234567890', '-12345678901234567890'],
    ['9007199254740991', '9007199254740991'],
    ['1000000000000000000000', '1000000000000000000000'],
    ['"0042"', '0042'],
    ['1.5', '1.5'],
    [`"${'a'.repeat(512)}"`, 'a'.repeat(512)],
  ])('is kept as it was sent: %s', async (id, kept) => {
    expect(await sent(`{"id": ${id}}`, { remoteId: 'body.id' })).toEqual({ type: 'delivered', status: 200, remoteId: kept, detail: null })
    expect(await lookedUp(`{"notes": [{"ref": "${itemOf().messageId}", "id": ${id}}]}`)).toMatchObject({ remoteId: kept })
  })

  it.each([
    [`"${'a'.repeat(513)}"`, 'it is longer than 512 characters'],
    ['9007199254740993.0', 'it is a rounded number'],
    ['"a\\u0000b"', 'it contains characters that cannot be stored'],
  ])('is not kept where another one would be: %s', async (id, why) => {
    const body = `{"id": ${id}}`
    const detail = `the id of the record was not stored, because ${why}`
    expect(await sent(body, { remoteId: 'body.id' })).toEqual({ type: 'delivered', status: 200, remoteId: null, detail })
    const had = { type: 'delivered', status: 409, remoteId: null, detail: `the target already had the record; ${detail}` }
    expect(await sent(body, { remoteId: 'body.id', duplicate: 'true' }, 409)).toEqual(had)
    const found = await lookedUp(body, { lookup: { ...lookup, found: 'body.id' } })
    expect(found).toMatchObject({ remoteId: null, detail: `the target has the record: the lookup found it; ${detail}` })
  })

  it('is a number for arithmetic while a number can represent it', async () => {
    const own = { success: 'body.n * 2 = 41 and $length(body.big) = 20' }
    expect(await sent('{"n": 20.5, "big": 12345678901234567890}', own)).toMatchObject({ type: 'delivered' })
  })

  it('is read behind a byte order mark too', async () => {
    expect(await sent('\ufeff{"id": 7}', { remoteId: 'body.id' })).toMatchObject({ remoteId: '7' })
  })
})

describe('an answer that the settings judge', () => {
  const judged = {
    throttled: 'status = 403 and body[0].errorCode = "REQUEST_LIMIT_EXCEEDED"',
    duplicate: 'body.code = "exists"',
    refused: 'body.status = 0',
    suspendOn: [403],
    error: 'body.message',
  }

  it("200 that means no is dead immediately, with the target's reason", async () => {
    const outcome = await sent('{"status": 0, "message": "policy number missing"}', judged)
    expect(outcome).toMatchObject({ type: 'failed', permanent: true, isFinal: true, status: 200 })
    expect(outcome).toMatchObject({ error: 'answered 200 (policy number missing), which rejects the change (refused)' })
  })

  it('403 that means later pauses the destination and never suspends it; another 403 does', async () => {
    const busy = '[{"errorCode": "REQUEST_LIMIT_EXCEEDED", "message": "too many"}]'
    expect(await sent(busy, judged, 403)).toMatchObject({ type: 'throttled', status: 403, retryAfterMs: 60_000 })
    expect(await sent('[{"errorCode": "INVALID_SESSION_ID"}]', judged, 403)).toMatchObject({ type: 'suspend', status: 403 })
  })

  it('waits for as many seconds as the expression yields, an hour at most; Retry-After counts first', async () => {
    const throttled = 'body.wait'
    expect(await sent('{"wait": 7}', { throttled }, 400)).toMatchObject({ type: 'throttled', retryAfterMs: 7_000 })
    expect(await sent('{"wait": 86400}', { throttled }, 400)).toMatchObject({ type: 'throttled', retryAfterMs: 3_600_000 })
    for (const none of ['0', '-1', 'false', '"soon"', 'null'])
      expect(await sent(`{"wait": ${none}}`, { throttled }, 400)).toMatchObject({ type: 'failed', permanent: true })
    // A pause of 0, again and again, would be a loop.
    for (const [retryAfter, retryAfterMs] of [
      ['30', 30_000],
      ['0', 7_000],
    ] as const) {
      const { baseUrl } = await serve((_, response) => response.writeHead(403, { 'retry-after': retryAfter }).end('{"wait": 7}'))
      expect(await sendOne(openKind(destinationTo(baseUrl, { throttled })))).toMatchObject({ type: 'throttled', retryAfterMs })
    }
  })

  it('counts throttled first, then duplicate, refused, suspend_on, success', async () => {
    const all = { throttled: 'body.t', duplicate: 'body.d', refused: 'body.r', suspendOn: [409], success: 'body.s' }
    const answers: readonly (readonly [string, string])[] = [
      ['{"t": true, "d": true, "r": true, "s": true}', 'throttled'],
      ['{"d": true, "r": true, "s": true}', 'delivered'],
      ['{"r": true, "s": true}', 'failed'],
      ['{"s": true}', 'suspend'],
    ]
    for (const [body, type] of answers) expect(await sent(body, all, 409), body).toMatchObject({ type })
    expect(await sent('{"s": true}', { ...all, suspendOn: [] }, 409)).toMatchObject({ type: 'delivered', detail: null })
    const none = { type: 'failed', error: 'answered 200, which does not count as success (success)' }
    expect(await sent('{}', { ...all, suspendOn: [] })).toMatchObject(none)
  })

  it('counts by the first that is true, though one after it fails; by the failure where none before is', async () => {
    const judging = { refused: '$number(body.r) = 1', success: '$number(body.s) = 1' }
    const all = { throttled: 'body.t', duplicate: 'body.d', suspendOn: [403], ...judging }
    for (const [body, type] of [
      ['{"t": true, "r": 0, "s": "?"}', 'throttled'],
      ['{"d": true, "r": "?"}', 'delivered'],
      ['{"r": 1, "s": "?"}', 'failed'],
      ['{"r": 0, "s": "?"}', 'suspend'],
    ] as const)
      expect(await sent(body, all, 403), body).toMatchObject({ type })
    expect(await sent('{"r": "?", "s": 1}', all)).toMatchObject({ type: 'unknown', error: expect.stringContaining('refused failed') })
  })

  it('that throttles a lookup says nothing of the change', async () => {
    expect(await lookedUp('{"wait": 7}', { throttled: 'body.wait' }, 403)).toMatchObject({ type: 'throttled', retryAfterMs: 7_000 })
  })

  it('shows no secret in its reason, and the whole answer where the reason cannot be found', async () => {
    const masked = await sent('{"why": "token 0123456789abcdef0123456789abcdef refused"}', { error: 'body.why' }, 422)
    expect(JSON.stringify(masked)).not.toContain('0123456789abcdef')
    for (const error of ['body.none', '$number("x")'])
      expect(await sent('{"detail": "no"}', { error }, 422)).toMatchObject({ error: 'answered 422 (no)' })
  })
})
