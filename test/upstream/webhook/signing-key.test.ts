import { createHmac, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'svix'
import { describe, expect, it } from 'vitest'
import { SigningKey } from '../../../src/upstream/webhook/signing-key.ts'

const AT = new Date(Date.UTC(2026, 4, 4, 12, 0, 0, 500))

describe('SigningKey', () => {
  it('signs any text as the library does, with any secret', () => {
    const long = fc.integer({ min: 1, max: 8_000 }).map((length) => 'é\ud800'.repeat(length))
    const text = fc.oneof(long, fc.string({ unit: 'binary' }), fc.json(), fc.constantFrom('', '\ud800', 'a\udc00b', '\u0000'))
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 200, size: 'max' }),
        fc.boolean(),
        text,
        text,
        fc.date({ noInvalidDate: true }),
        (bytes, prefix, id, body, at) => {
          const secret = `${prefix ? 'whsec_' : ''}${Buffer.from(bytes).toString('base64')}`
          expect(new SigningKey(secret).sign(id, at, body)).toBe(new Webhook(secret).sign(id, at, body))
        },
      ),
    )
  })

  it('interoperates with the library', () => {
    const secret = `whsec_${randomBytes(32).toString('base64')}`
    const [key, library] = [new SigningKey(secret), new Webhook(secret)]
    const now = new Date()
    for (const [signer, verifier] of [
      [key, library],
      [library, key],
    ] as const) {
      const headers = {
        'svix-id': 'msg_1',
        'svix-timestamp': String(Math.floor(now.getTime() / 1000)),
        'svix-signature': signer.sign('msg_1', now, '{"a":1}'),
      }
      expect(() => verifier.verify('{"a":1}', headers)).not.toThrow()
      expect(() => verifier.verify('{"a":2}', headers)).toThrow('No matching signature')
    }
  })

  it('signs bytes unchanged', () => {
    const [secret, body] = [randomBytes(32), Buffer.from([0xff, 0xfe, 0x80])]
    const expected = createHmac('sha256', secret)
      .update(`m.${Math.floor(AT.getTime() / 1000)}.`)
      .update(body)
      .digest('base64')
    expect(new SigningKey(secret.toString('base64')).sign('m', AT, body)).toBe(`v1,${expected}`)
  })

  it('accepts only base64', () => {
    for (const secret of ['', 'whsec_', 'whsec_!!', 'no base64?']) expect(() => new SigningKey(secret), secret).toThrow()
  })
})
