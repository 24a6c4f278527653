import { createHmac, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'svix'
import { describe, expect, it } from 'vitest'
import { Secret } from '../../../src/base/secret.ts'
import { checkHeaders, DeliveryVerifier } from '../../../src/upstream/webhook/signature.ts'

const NOW_MS = Date.UTC(2026, 4, 4, 12, 0, 0, 500)
const NOW_S = Math.floor(NOW_MS / 1000)
const secret = `whsec_${randomBytes(32).toString('base64')}`
const other = `whsec_${randomBytes(24).toString('base64')}`
const verifier = new DeliveryVerifier([new Secret(secret)])
const BODY = Buffer.from('{"type":"submission.message"}')

function signed(body: string | Buffer = BODY, with_: { secret?: string; id?: string; atS?: number; names?: string } = {}) {
  const { id = 'msg_1', atS = NOW_S, names = 'svix' } = with_
  return {
    [`${names}-id`]: id,
    [`${names}-timestamp`]: String(atS),
    [`${names}-signature`]: new Webhook(with_.secret ?? secret).sign(id, new Date(atS * 1000), body),
  }
}

describe('DeliveryVerifier', () => {
  it('accepts signatures of the library, under both header names', () => {
    for (const names of ['svix', 'webhook']) {
      expect(verifier.verifyAt(NOW_MS, signed(BODY, { names }), BODY)).toMatchObject({ ok: true, deliveryId: 'msg_1', secret: 1 })
    }
  })

  it('accepts any signed text, but not with one byte changed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(), (text, at) => {
        const body = Buffer.from(text)
        expect(verifier.verifyAt(NOW_MS, signed(body), body).ok).toBe(true)
        if (body.length === 0) return
        const tampered = Buffer.from(body)
        tampered[at % body.length] = (tampered[at % body.length] ?? 0) ^ 1
        expect(verifier.verifyAt(NOW_MS, signed(body), tampered)).toEqual({ ok: false, reason: 'wrong_signature' })
      }),
    )
  })

  it('checks the bytes of a body, not its JSON', () => {
    const body = '{ "n": 1.50, "a": "\\u00e9" }'
    expect(verifier.verifyAt(NOW_MS, signed(body), Buffer.from(body)).ok).toBe(true)
    expect(verifier.verifyAt(NOW_MS, signed(body), Buffer.from(JSON.stringify(JSON.parse(body))))).toMatchObject({ ok: false })
  })

  it('returns which secret verified, with or without its prefix', () => {
    const both = new DeliveryVerifier([new Secret(other), new Secret(secret.slice('whsec_'.length))])
    expect(both.verifyAt(NOW_MS, signed(), BODY)).toMatchObject({ ok: true, secret: 2 })
    expect(both.verifyAt(NOW_MS, signed(BODY, { secret: other }), BODY)).toMatchObject({ ok: true, secret: 1 })
  })

  it('finds the valid one among several signatures', () => {
    const headers = signed()
    const wrong = `v1,${randomBytes(32).toString('base64')}`
    const many = { ...headers, 'svix-signature': `${wrong} v1a,${randomBytes(64).toString('base64')} ${headers['svix-signature']}` }
    expect(verifier.verifyAt(NOW_MS, many, BODY).ok).toBe(true)
    expect(verifier.verifyAt(NOW_MS, { ...headers, 'svix-signature': `${wrong} ${wrong}` }, BODY)).toEqual({
      ok: false,
      reason: 'wrong_signature',
    })
  })

  it('signs raw bytes: other invalid text is another body', () => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
    const body = Buffer.from([0x7b, 0xff, 0xfe, 0x7d])
    const signature = `v1,${createHmac('sha256', key).update(`msg_1.${NOW_S}.`).update(body).digest('base64')}`
    const headers = { ...signed(), 'svix-signature': signature }
    expect(verifier.verifyAt(NOW_MS, headers, body).ok).toBe(true)
    // Both decode to two replacement characters.
    expect(verifier.verifyAt(NOW_MS, headers, Buffer.from([0x7b, 0xfe, 0xff, 0x7d])).ok).toBe(false)
    expect(verifier.verifyAt(NOW_MS, signed('{\ufffd\ufffd}'), body).ok).toBe(false)
  })

  it('verifies a stored delivery at its time of arrival', () => {
    const headers = signed()
    const laterMs = NOW_MS + 86_400_000
    expect(verifier.verifyAt(laterMs, headers, BODY)).toEqual({ ok: false, reason: 'stale_timestamp' })
    expect(verifier.verifyAt(NOW_MS + 299_000, headers, BODY).ok).toBe(true)
  })

  it('refuses an invalid secret', () => {
    expect(() => new DeliveryVerifier([new Secret('whsec_')])).toThrow()
  })
})

describe('checkHeaders', () => {
  it('accepts timestamps up to 300 seconds off', () => {
    const reasonAt = (atS: number) => {
      const result = checkHeaders(signed(BODY, { atS }), NOW_MS)
      return result.ok ? 'ok' : result.reason
    }
    expect([-301, -300, 0, 300, 301].map((offset) => reasonAt(NOW_S + offset))).toEqual([
      'stale_timestamp',
      'ok',
      'ok',
      'ok',
      'stale_timestamp',
    ])
  })

  it('requires an integer timestamp', () => {
    for (const timestamp of ['soon', `${NOW_S}.5`, `${NOW_S}x`, ` ${NOW_S}`, `-${NOW_S}`, '1e9', '0x1', '123456789012']) {
      expect(checkHeaders({ ...signed(), 'svix-timestamp': timestamp }, NOW_MS)).toEqual({ ok: false, reason: 'bad_timestamp' })
    }
  })

  it('requires a whole triple, and uses that one', () => {
    for (const missing of ['id', 'timestamp', 'signature']) {
      const headers = { ...signed(), [`svix-${missing}`]: undefined }
      expect(checkHeaders(headers, NOW_MS)).toEqual({ ok: false, reason: 'missing_headers' })
      const whole = { ...headers, ...signed(BODY, { names: 'webhook', id: 'msg_2' }) }
      expect(checkHeaders(whole, NOW_MS)).toMatchObject({ ok: true, claims: [{ deliveryId: 'msg_2' }] })
    }
    expect(checkHeaders({ ...signed(), 'svix-signature': '' }, NOW_MS)).toEqual({ ok: false, reason: 'missing_headers' })
    expect(checkHeaders({}, NOW_MS)).toEqual({ ok: false, reason: 'missing_headers' })
  })

  it('trap 27: the verified id is the one for deduplication if both triples exist', () => {
    const headers = { ...signed(BODY, { id: 'msg_svix' }), ...signed(BODY, { id: 'msg_webhook', names: 'webhook' }) }
    expect(verifier.verifyAt(NOW_MS, headers, BODY)).toMatchObject({ ok: true, deliveryId: 'msg_svix' })
    // An unsigned id is refused, even with another valid triple.
    const mixed = { ...headers, 'svix-id': 'msg_other' }
    expect(verifier.verifyAt(NOW_MS, mixed, BODY)).toMatchObject({ ok: true, deliveryId: 'msg_webhook' })
    expect(verifier.verifyAt(NOW_MS, { ...mixed, 'webhook-id': 'msg_other' }, BODY)).toEqual({ ok: false, reason: 'wrong_signature' })
  })

  it('tries the webhook triple if the svix one is stale, of an unknown scheme or wrong, and returns the headers that verified', () => {
    const good = signed(BODY, { id: 'msg_webhook', names: 'webhook' })
    for (const spoiled of [
      signed(BODY, { secret: other }),
      signed(BODY, { atS: NOW_S - 1_000 }),
      { ...signed(), 'svix-timestamp': 'soon' },
      { ...signed(), 'svix-signature': 'v2,abc' },
    ]) {
      expect(verifier.verifyAt(NOW_MS, { ...spoiled, ...good }, BODY)).toEqual({
        ok: true,
        deliveryId: 'msg_webhook',
        secret: 1,
        headers: good,
      })
    }
    const stale = { ...signed(BODY, { atS: NOW_S - 1_000 }), ...signed(BODY, { atS: NOW_S - 1_000, names: 'webhook' }) }
    expect(checkHeaders(stale, NOW_MS)).toEqual({ ok: false, reason: 'stale_timestamp' })
  })

  it('treats equal triples as one claim', () => {
    const both = checkHeaders({ ...signed(), ...signed(BODY, { names: 'webhook' }) }, NOW_MS)
    expect(both.ok && both.claims).toHaveLength(1)
  })

  it('trap 26: an unknown scheme fails closed, with its own reason', () => {
    const digest = randomBytes(64).toString('base64')
    for (const signature of [`v2,${digest}`, `v1a,${digest}`, `sha256=${digest}`, digest, 'v1,', 'v1']) {
      expect(checkHeaders({ ...signed(), 'svix-signature': signature }, NOW_MS)).toEqual({ ok: false, reason: 'unknown_scheme' })
    }
  })

  it('replaces a long id with its hash', () => {
    const verifiedId = (id: string) => verifier.verifyAt(NOW_MS, signed(BODY, { id }), BODY)
    expect(verifiedId('m'.repeat(512))).toMatchObject({ ok: true, deliveryId: 'm'.repeat(512) })
    const [one, same, other] = ['m'.repeat(513), 'm'.repeat(513), 'n'.repeat(513)].map(verifiedId)
    expect(one).toMatchObject({ ok: true, deliveryId: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) })
    expect(same).toEqual(one)
    expect(other).not.toEqual(one)
  })
})
