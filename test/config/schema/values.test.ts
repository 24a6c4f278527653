import fc from 'fast-check'
import Fastify from 'fastify'
import { Webhook } from 'svix'
import { describe, expect, test } from 'vitest'
import { editDistance, nearest } from '../../../src/base/near-names.ts'
import {
  anySecret,
  baseUrl,
  daysOrOff,
  duration,
  flag,
  listenHost,
  number,
  type Parsed,
  size,
  timeZone,
  trustProxy,
  webhookKey,
  webhookSecret,
} from '../../../src/config/schema/values.ts'

const meant = <T>(parsed: Parsed<T>): T | null => ('value' in parsed ? parsed.value : null)

test('durations are a whole number and a unit, within bounds', () => {
  const parse = (text: string) => meant(duration('100ms', '30d')(text))
  expect(['500ms', '60s', '15m', '6h', '7d'].map(parse)).toEqual([500, 60_000, 900_000, 21_600_000, 604_800_000])
  expect(['100ms', '30d', '99ms', '31d'].map(parse)).toEqual([100, 2_592_000_000, null, null])
  expect(['', '5', 's', '1.5h', '-5s', '5 s', '5S', '5w', '1m30s', '9999999999s', 'Infinitys', '5s\n'].map(parse)).toEqual(
    Array(12).fill(null),
  )
  expect(duration('1s', '30d')('60')).toEqual({ problems: ['has no unit: write 60s for seconds, or m, h or d instead of s'] })
})

test('what to listen on is an address or a name, without a port', () => {
  const parse = (text: string) => meant(listenHost(text))
  const right = ['0.0.0.0', '127.0.0.1', '::', '::1', 'fe80::1', 'localhost', 'mirror-1.internal']
  expect(right.map(parse)).toEqual(right)
  expect(['0.0.0.0:8080', 'localhost:8080', '[::]', '[::1]:80', 'http://x', 'a b', '*', ':8080'].map(parse)).toEqual(Array(8).fill(null))
})

test('sizes are bytes or have a binary unit, within bounds', () => {
  const parse = (text: string) => meant(size('1KiB', '64MiB')(text))
  expect(['4MiB', '512KiB', '65536', '1024'].map(parse)).toEqual([4_194_304, 524_288, 65_536, 1024])
  expect(['', '1023', '65MiB', '1GiB', '4MB', '4M', '4 MiB', '0x1000', '1e6', '-1'].map(parse)).toEqual(Array(10).fill(null))
})

test('days are whole, at least one, or off', () => {
  const parse = (text: string) => {
    const parsed = daysOrOff(36_500)(text)
    return 'value' in parsed ? parsed.value : 'wrong'
  }
  expect(['1', '36500', 'off'].map(parse)).toEqual([1, 36_500, null])
  expect(['0', '36501', '', 'none', '-1', '1.5', '30d', 'OFF'].map(parse)).toEqual(Array(8).fill('wrong'))
})

test('a time zone is one that the IANA knows', () => {
  expect(['UTC', 'America/New_York', 'Mars/Olympus', '', '+25:00'].map((text) => meant(timeZone(text)))).toEqual([
    'UTC',
    'America/New_York',
    ...Array(3).fill(null),
  ])
})

test('numbers are plain, within bounds', () => {
  expect(['1', '256', '0', '257', '1.5', '1e2', '', ' 1', '0x1', 'NaN'].map((text) => meant(number(1, 256)(text)))).toEqual([
    1,
    256,
    ...Array(8).fill(null),
  ])
  expect(['0.5', '10', '0.001', '1001', '.5', '1.'].map((text) => meant(number(0.01, 1000, 'any')(text)))).toEqual([
    0.5,
    10,
    ...Array(4).fill(null),
  ])
})

test('flags have the usual words', () => {
  expect(['true', 'ON', 'yes', '1', 'false', 'Off', 'no', '0'].map((text) => meant(flag(text)))).toEqual([
    ...Array(4).fill(true),
    ...Array(4).fill(false),
  ])
  expect(meant(flag('maybe'))).toBeNull()
})

describe('base URL', () => {
  test('trap 82: its path stays unchanged; only a trailing slash is removed', () => {
    const cases = [
      ['https://api.test/api/v1', 'https://api.test/api/v1'],
      ['https://staging.test/sandbox/api/v1//', 'https://staging.test/sandbox/api/v1'],
      ['https://other.test/v7/', 'https://other.test/v7'],
      ['HTTPS://API.test:443', 'https://api.test'],
    ] as const
    for (const [given, kept] of cases) expect(meant(baseUrl(given))).toBe(kept)
  })

  test('http is for this machine alone', () => {
    for (const host of ['localhost', 'localhost:80', '127.0.0.1:9', '127.8.9.1', '[::1]:9', 'a.localhost']) {
      expect(meant(baseUrl(`http://${host}/api/v1`))).not.toBeNull()
    }
    for (const host of ['api.test', '10.0.0.1', 'localhost.test', '127.0.0.1.test', '[::2]', '128.0.0.1']) {
      expect(baseUrl(`http://${host}/api/v1`)).toEqual({ problems: [expect.stringMatching(/^must use https/)] })
    }
  })

  test('user, query and fragment are rejected together', () => {
    expect(baseUrl('http://u:p@api.test/api/v1?x#y')).toEqual({ problems: Array(3).fill(expect.any(String)) })
    for (const text of [
      '',
      'api.test/api/v1',
      '/api/v1',
      'ws://api.test',
      'https://',
      'https://a b/',
      'https://api.test/?',
      'https://api.test/#',
    ]) {
      expect(meant(baseUrl(text))).toBeNull()
    }
  })
})

describe('webhook secrets', () => {
  test('are accepted exactly if they encode 24 to 64 bytes, and then the library decodes the same key', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 0, maxLength: 80 }), fc.boolean(), fc.boolean(), (bytes, prefixed, padded) => {
        const base64 = Buffer.from(bytes).toString('base64')
        const text = `${prefixed ? 'whsec_' : ''}${padded ? base64 : base64.replace(/=+$/, '')}`
        expect(meant(webhookSecret(text))).toBe(bytes.length >= 24 && bytes.length <= 64 ? text : null)
        if (bytes.length < 24) return
        const at = new Date(0)
        const signed = new Webhook(Uint8Array.from(bytes), { format: 'raw' }).sign('id', at, 'body')
        expect(new Webhook(text).sign('id', at, 'body')).toBe(signed)
        expect(webhookKey(text)).toEqual(Buffer.from(bytes))
      }),
    )
  })

  test('the webhook library accepts every accepted secret', () => {
    const alphabet = fc.constantFrom(...'ABCxyz019+/=-_ é')
    fc.assert(
      fc.property(fc.string({ unit: alphabet, minLength: 30, maxLength: 90 }), (text) => {
        if (meant(webhookSecret(text)) !== null) expect(() => new Webhook(text).sign('id', new Date(0), 'body')).not.toThrow()
      }),
    )
  })

  test('the empty key, other alphabets and wrong lengths are rejected', () => {
    const good = Buffer.alloc(24, 255).toString('base64')
    for (const text of ['', 'whsec_', good.replaceAll('/', '_'), `${good}A`, `${good}==`, `v1,${good}`, 'x'.repeat(33), `${good} `]) {
      expect(meant(webhookSecret(text))).toBeNull()
    }
  })
})

test('other secrets may be anything except the results of copying mistakes', () => {
  expect(['bas_x', 'a b', 'é'].map((text) => meant(anySecret(text)))).toEqual(['bas_x', 'a b', 'é'])
  expect(['', ' ', ' x', 'x\n', 'a\u0000b', 'a\nb'].map((text) => meant(anySecret(text)))).toEqual(Array(6).fill(null))
})

describe('trusted proxies', () => {
  test('off, on, or networks in the form that the server takes', () => {
    expect(['off', 'false', '0', 'on', 'true'].map((text) => meant(trustProxy(text)))).toEqual([false, false, false, true, true])
    const lists = ['10.0.0.0/8', '127.0.0.1, ::1/128  loopback,uniquelocal', 'fd00::/8', 'linklocal']
    for (const list of lists) {
      const value = meant(trustProxy(list))
      expect(value).toBe(list.split(/[\s,]+/).join(','))
      expect(() => Fastify({ trustProxy: value ?? false })).not.toThrow()
    }
    const networks = ['10.0.0.0/33', '::1/129', '10.0.0.0/0', '10.0.0/8', '10.0.0.1/8/8', 'fe80::1%eth0']
    for (const text of ['', ',', 'proxy.test', 'on,off', ...networks]) {
      expect(meant(trustProxy(text))).toBeNull()
    }
  })

  test('a number of hops is rejected, because the server would ignore it', async () => {
    expect(trustProxy('1')).toEqual({ problems: [expect.stringMatching(/^must not be a number of hops/)] })
    const app = Fastify({ trustProxy: 1 as unknown as boolean })
    app.get('/', (request) => request.ip)
    const answer = await app.inject({ url: '/', headers: { 'x-forwarded-for': '9.9.9.9' }, remoteAddress: '10.0.0.1' })
    expect(answer.body).toBe('10.0.0.1')
    await app.close()
  })
})

test('the nearest name is that with the fewest changes of letters', () => {
  expect([editDistance('', 'abc'), editDistance('kitten', 'sitting'), editDistance('abc', 'abc')]).toEqual([3, 3, 0])
  expect(nearest('POLL_ACTVE', ['POLL_MAX', 'POLL_ACTIVE', 'REPLAY_ACTIVE'])).toBe('POLL_ACTIVE')
  const word = fc.string({ maxLength: 12 })
  fc.assert(fc.property(word, word, (a, b) => editDistance(a, b) === editDistance(b, a)))
})
