import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PermanentError, TransientError } from '../../src/base/errors.ts'
import { createLog, KnownSecrets, type Log } from '../../src/base/log.ts'
import { Secret } from '../../src/base/secret.ts'

function recorder(secrets: readonly string[] = [], level = 'info'): { log: Log; lines: string[] } {
  const lines: string[] = []
  return { log: createLog({ level, pretty: false, secrets, destination: { write: (line) => void lines.push(line) } }), lines }
}

/** What a text becomes inside JSON. */
const inJson = (text: string) => JSON.stringify(text).slice(1, -1)

test('each entry is one line of JSON, with level, time, message and fields', () => {
  const { log, lines } = recorder()
  log.child({ account: 'acme' }).warn({ submission: 'a', delivery: 'b' }, 'one\nline')
  log.debug('nothing')
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(/^[^\n]*\n$/)
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/)
  expect(JSON.parse(lines[0] ?? '')).toEqual({ level: 40, time, account: 'acme', submission: 'a', delivery: 'b', msg: 'one\nline' })
})

test('no foreign text controls the terminal that shows the log', () => {
  const sent = 'a\u001b[2Jb\u009b31mc\u202ed\re\nf\tg\\u001b'
  const { log, lines } = recorder()
  log.warn({ delivery: sent }, sent)
  expect(lines[0]).toMatch(/^[^\p{Cc}\p{Bidi_Control}]*\n$/u)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ delivery: sent, msg: sent })

  const shown: string[] = []
  const destination = { write: (line: string) => void shown.push(line) }
  createLog({ level: 'info', pretty: true, secrets: [], destination }).warn({ about: { delivery: sent } }, sent)
  const text = 'a\\u001b[2Jb\\u009b31mc\\u202ed\\u000de\nf\tg\\u001b'
  expect(JSON.parse(shown[0] ?? '')).toMatchObject({ about: { delivery: text }, msg: text })
})

test('an error of Postgres is logged without the row that it repeats', () => {
  const { log, lines } = recorder()
  const error = new Error('new row for relation "quotes" violates check constraint "q"')
  log.warn({ err: Object.assign(error, { code: '23514', detail: 'Failing row contains (Jane Doe)', where: 'SQL "Jane Doe"' }) }, 'met')
  expect(lines.join()).toContain('23514')
  expect(lines.join()).not.toContain('Jane')
})

test('an environment error is logged without a stack, any other with one', () => {
  const { log, lines } = recorder()
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' })
  for (const err of [refused, new TransientError('the service is away', { cause: refused }), new Error('a fault'), 'a text'])
    log.warn({ err }, 'met')
  const shown = lines.map((line) => (JSON.parse(line) as { err: { message?: string; stack?: string } }).err)
  expect(shown.map(({ stack }) => stack !== undefined)).toEqual([false, false, true, false])
  expect(shown[0]?.message).toBe('connect ECONNREFUSED 127.0.0.1:9')
  expect(shown[3]).toBe('a text')
})

test('silent writes nothing', () => {
  const { log, lines } = recorder([], 'silent')
  log.fatal('gone')
  expect(lines).toEqual([])
})

describe('secrets', () => {
  test('values under a tax-id key from the settings are masked once it is configured', () => {
    const lines: string[] = []
    const secrets = new KnownSecrets([], ['owner_tax_number'])
    const log = createLog({ level: 'info', pretty: false, secrets, destination: { write: (line) => void lines.push(line) } })
    log.info({ of: [{ OwnerTaxNumber: '12-3456789', vatCode: 'x' }] })
    secrets.add([], ['vat code'])
    log.info({ of: [{ OwnerTaxNumber: '12-3456789', vatCode: 'x' }] })
    expect(lines.map((line) => JSON.parse(line).of[0])).toEqual([
      { OwnerTaxNumber: '[redacted]', vatCode: 'x' },
      { OwnerTaxNumber: '[redacted]', vatCode: '[redacted]' },
    ])
  })

  test('are masked in message, value, key, error, cause and child', () => {
    const { log, lines } = recorder(['s3cret-value'])
    const cause = new Error('inner s3cret-value')
    log.info('before s3cret-value after')
    log.info({ url: 'https://u:s3cret-value@h', deep: { list: [['s3cret-value']] }, 's3cret-value': 1 }, 'x')
    log.error({ err: new PermanentError('outer s3cret-value', { cause }), hint: Object.assign(new Error('x'), { body: 's3cret-value' }) })
    log.child({ who: 's3cret-value' }).info('child')
    expect(lines).toHaveLength(4)
    expect(lines.join('')).not.toContain('s3cret')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ msg: 'before [redacted] after' })
    const masked = { url: 'https://u:[redacted]@h', deep: { list: [['[redacted]']] }, '[redacted]': 1, msg: 'x' }
    expect(JSON.parse(lines[1] ?? '')).toMatchObject(masked)
  })

  test('are masked completely when one begins like another', () => {
    const { log, lines } = recorder(['abcd', 'abcdefgh'])
    log.info('abcdefgh abcd')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ msg: '[redacted] [redacted]' })
  })

  test('of any form appear in no line, and each line stays JSON with level and time', () => {
    const binary = fc.string({ unit: 'binary', minLength: 6, maxLength: 20 })
    const secret = fc.oneof(binary, fc.string({ unit: 'grapheme', minLength: 6 }), fc.uuid())
    fc.assert(
      fc.property(secret, fc.jsonValue(), fc.string(), (text, value, around) => {
        const { log, lines } = recorder([text])
        log.info({ value, text, list: [{ [`${around}${text}`]: text }], err: new Error(text) }, `${around}${text}${around}`)
        const line = lines[0] ?? ''
        const masked = JSON.parse(line) as Record<string, unknown>
        expect(masked).toMatchObject({ level: 30, time: expect.any(String), text: '[redacted]' })
        const clean = { ...masked, time: '' }
        if (!'[redacted]'.includes(text)) expect(JSON.stringify(clean).includes(inJson(text))).toBe(false)
      }),
    )
  })

  test('that are short and part of the frame break no line', () => {
    const { log, lines } = recorder(['30', 'level', '"', '2', 'e'])
    log.info({ n: 30, s: '3030' }, 'level "30"')
    const masked = { level: 30, n: '[redacted]', s: '[redacted][redacted]', msg: '[redacted] [redacted][redacted][redacted]' }
    expect(JSON.parse(lines[0] ?? '')).toMatchObject(masked)
  })

  test('that are empty mask nothing', () => {
    const { log, lines } = recorder([''])
    log.info('text')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ msg: 'text' })
  })

  test('of the settings mask themselves', () => {
    const { log, lines } = recorder()
    log.info({ given: new Secret('hidden') }, `as text ${new Secret('hidden')}`)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ given: '[redacted]', msg: 'as text [redacted]' })
  })
})

describe('fields known to contain a secret, a FEIN or an SSN', () => {
  const keys = ['authorization', 'client_secret', 'clientSecret', 'access_token', 'accessToken', 'refresh_token', 'secret', 'secrets']
  const more = ['password', 'token', 'fein_or_ssn', 'fein', 'ssn', 'Authorization', 'FEIN', 'Client-Secret']
  const taxIds = ['ein', 'tin', 'tax_id', 'Tax ID', 'S.S.N.', 'social_security_number', 'employerIdentificationNumber']

  test.each([...keys, ...more, ...taxIds])('%s is masked at any depth', (key) => {
    const { log, lines } = recorder()
    const held = { [key]: '12-3456789' }
    log.info({ ...held, a: { ...held, b: { c: [{ d: { e: held } }] } }, err: Object.assign(new Error('x'), { answer: held }) }, 'x')
    log.child(held).info('child')
    log.info({ held: { [key]: { nested: '12-3456789' } } })
    expect(lines).toHaveLength(3)
    expect(lines.join('')).not.toContain('12-3456789')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ [key]: '[redacted]', a: { b: { c: [{ d: { e: { [key]: '[redacted]' } } }] } } })
  })

  test('a tax id is masked in a fact or answer that names it, and in JSON inside a text', () => {
    const { log, lines } = recorder()
    const pair = { field_name: 'fein', display_value: '12-3456789', source: { snippet: 'FEIN 12-3456789' } }
    log.warn({ pair, text: JSON.stringify({ d1: JSON.stringify(pair) }), err: new Error(`answered 400: ${JSON.stringify(pair)}`) }, 'x')
    expect(lines.join('')).not.toContain('3456789')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ pair: { field_name: 'fein', display_value: '[redacted]' } })
  })

  test('other fields stay unchanged', () => {
    const { log, lines } = recorder()
    const fields = { tokens_minted: 3, secretary: 'x', lossness: 1, token_mints: [null, true, 1.5], protein: 1, taxes: 2 }
    log.info(fields, 'x')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject(fields)
  })
})

test('any logged value makes a line of JSON', () => {
  fc.assert(
    fc.property(
      fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true, withTypedArray: true, withMap: true }),
      (value) => {
        const { log, lines } = recorder(['abcdef'])
        log.info({ value, token: 'abcdef' }, 'abcdef')
        expect(lines).toHaveLength(1)
        expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 30, token: '[redacted]', msg: '[redacted]' })
      },
    ),
    { examples: [[[Float32Array.from([Number.POSITIVE_INFINITY, Number.NaN]), 0n, 'a:Infinity,']]] },
  )
})

test('the log continues after a full disk', async () => {
  const full = openSync('/dev/full', 'w')
  const script = fileURLToPath(new URL('children/log-lines.ts', import.meta.url))
  const child = spawn(process.execPath, [script], { stdio: ['ignore', full, 'pipe'] })
  closeSync(full)
  let errors = ''
  child.stderr?.on('data', (text) => {
    errors += String(text)
  })
  const [code] = await once(child, 'close')
  expect([code, errors]).toEqual([0, 'wrote all\n'])
})
