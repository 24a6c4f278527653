// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of the settings file are written like that.
import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Secret, secretsOfUrl } from '../../src/base/secret.ts'
import { type Config, loadConfig, proxySettings, secretValues } from '../../src/config/config.ts'
import { account, type Env, file, hook, problemsOf, withFile } from './support.ts'

/** Text that cannot turn up by chance in a message or among the names of settings, and that does not look like the name of a key. */
const odd = fc
  .uint8Array({ minLength: 24, maxLength: 64 })
  .map((bytes) => Buffer.from(bytes).toString('base64url').replace(/[-_]/g, 'Q'))
  .filter((text) => /\d/.test(text))

/** Every part of `secret` of eight characters. */
function parts(secret: string): string[] {
  return Array.from({ length: secret.length - 7 }, (_, start) => secret.slice(start, start + 8))
}

/** Every way out of a Config into text. */
function texts(config: Config): string {
  const deep = inspect(config, { depth: Infinity, showHidden: true, getters: true })
  return [JSON.stringify(config), deep, inspect(config.accounts[0]?.credentials[0]?.secret), `${config.accounts[0]?.webhookSecrets}`].join()
}

function expectHidden(text: string, secrets: readonly string[]): void {
  for (const part of secrets.flatMap(parts)) expect(text.includes(part)).toBe(false)
}

test('a secret shows itself to who reveals it, and to nobody else', () => {
  const secret = new Secret('bas_hidden')
  expect(secret.reveal()).toBe('bas_hidden')
  for (const text of [
    `${secret}`,
    String(secret),
    JSON.stringify({ secret }),
    inspect({ secret }),
    inspect(secret, { showHidden: true }),
  ]) {
    expect(text).toContain('[redacted]')
    expect(text).not.toContain('hidden')
  }
  expect(Object.keys(secret)).toEqual([])
})

test('no part of a secret is in the text of a Config, and the log masks all of them', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(odd, { minLength: 6, maxLength: 6 }),
      fc.boolean(),
      ([a = '', b = '', c = '', d = '', e = '', f = ''], inFile) => {
        const whsec = Buffer.from(b).subarray(0, 32).toString('base64')
        const common: Env = {
          DATABASE_URL: `postgres://u:${c}@h.test/d`,
          DATABASE_LISTEN_URL: `postgres://h.test/d?user=u&password=${d}`,
          OPS_TOKENS: `alice:${e}`,
          HTTPS_PROXY: `http://u:${f}@proxy.test:3128`,
        }
        const yaml = `accounts: [{ name: a, base_url: "https://a.test", client_credentials: [{ id: i, secret: "${a}" }], webhook_secrets: [${whsec}] }]`
        const env = inFile
          ? withFile(yaml, common)
          : { ...account, ...common, BROKER_API_CLIENT_SECRET: a, WEBHOOK_SECRETS: `whsec_${whsec}` }
        const config = loadConfig(env)
        expectHidden(texts(config), [a, whsec, c, d, e, f])
        const values = secretValues(config)
        for (const secret of [a, whsec, c, d, e, f]) expect(values).toContain(secret)
      },
    ),
    { numRuns: 50 },
  )
})

test('no part of a secret is in a problem, even when it was put in the wrong place', () => {
  const secretNames = ['BROKER_API_CLIENT_SECRET', 'WEBHOOK_SECRETS', 'DATABASE_URL', 'DATABASE_LISTEN_URL', 'OPS_TOKENS']
  const names = [
    ...secretNames,
    ...secretNames.map((name) => `${name}_FILE`),
    ...[
      'ACCOUNT',
      'BROKER_API_BASE_URL',
      'BROKER_API_CLIENT_ID',
      'BROKER_API_SCOPE',
      'DATABASE_SCHEMA',
      'MIGRATE_ON_START',
      'HOST',
      'PORT',
    ],
    ...[
      'WEBHOOK_BODY_LIMIT',
      'TRUST_PROXY',
      'OPS_HOST',
      'OPS_PORT',
      'POLL_ACTIVE',
      'REPLAY_QUIET',
      'UPSTREAM_RPS',
      'HTTPS_PROXY',
      'LOG_LEVEL',
    ],
    ...['CONFIG_FILE', 'POLL_UNKNOWN', 'SHUTDOWN_GRACE', 'NO_PROXY'],
  ]
  // Nearly right, so that each is refused late as well as early.
  const shapes = [
    '%',
    'whsec_%',
    'whsec_%*',
    'https://u:%@h.test/?%#%',
    'http://%',
    'postgres://u:%@h:p/d',
    'postgres://h/%?sslmode=%&sslkey=%',
  ]
  const more = ['sqlite:%?%', 'sqlite://%', 'name:%', '%:%', 'a:% %', ' %', '%\n%', '%, %', '${%}', '10.0.0.0/%', '%s']
  const shape = fc.constantFrom(...shapes, ...more)
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), shape, { minKeys: 4 }), odd, (shaped, secret) => {
      const env = Object.fromEntries(Object.entries(shaped).map(([name, text]) => [name, text.replaceAll('%', secret)]))
      const problems = problemsOf(env)
      expectHidden(problems.join('\n'), [secret])
      for (const problem of problems) expect(problem).not.toMatch(/[\r\n]/)
    }),
    { numRuns: 300 },
  )
})

test('no part of a secret is in a problem of the file, be it a value, a key, a reference or broken YAML', () => {
  const lines = [
    'accounts: %',
    'accounts: [%, { name: "%", base_url: "%", default: "%", client_credentials: "%", webhook_secrets: "%" }]',
    'accounts: [{ name: %, %: 1, base_url: "http://u:%@h/", client_credentials: [{ id: " % %", secret: " %" }, { %: % }, %], webhook_secrets: [%x, "%*"] }]',
    'accounts: [{ client_credentials: [{ secret: "${%}" }, { secret: "${file:%}" }, { secret: "${%" }] }]',
    '%: %',
    '%: { %: "${%}" }',
    'database: { url: "%", listen_url: "postgres://u:%@h:p/", schema: "%", %: 1 }',
    'ops: { tokens: [%, { name: "%:", token: " %" }, { %: 1 }], port: % }',
    'ops: { tokens: "%" }',
    'receiver: { trust_proxy: [%, "${%}"], host: "%/" }',
    'poll: %',
    'log: { level: % }',
    'destinations: %',
    'destinations: [%, { name: "%", kind: "%", preset: "%", %: % }, { kind: webhook, url: "https://u:%@h", secret: "%", accounts: [%], entities: ["%"] }]',
    'destinations: [{ kind: http, auth: { type: "%" } }, { kind: http, auth: { type: basic, username: "%:", password: "%" }, request: { url: "", method: "%" } }]',
    'destinations: [{ kind: adapter, credentials: { %: "%" }, settings: { %: {} } }, { kind: file, target: { type: sftp, host: "%/", private_key: "%" } }]',
    'push: { schedule: "%", timeout: % }',
    'secret: "%',
    '%: %\n%: %',
    ' bad: [ %\n%: {',
    'x: *%',
    'x: !%  y',
    '\t%',
    '- %',
  ]
  fc.assert(
    fc.property(fc.uniqueArray(fc.constantFrom(...lines), { minLength: 1, maxLength: 4 }), odd, (chosen, secret) => {
      const problems = problemsOf({ CONFIG_FILE: file(`${chosen.join('\n').replaceAll('%', secret)}\n`, 'secrets.yaml') })
      expect(problems.length).toBeGreaterThan(0)
      expectHidden(problems.join('\n'), [secret])
      for (const problem of problems) expect(problem).not.toMatch(/[\r\n]/)
    }),
    { numRuns: 300 },
  )
})

test('there is no default secret', () => {
  expect(secretValues(loadConfig({}, { needs: 'database' }))).toEqual([])
  expect(secretValues(loadConfig(account))).toEqual(['bas_one-secret', hook(1).slice('whsec_'.length)])
})

describe('what the log has to hide of a URL', () => {
  test('is the whole, and the password in each way of writing it', () => {
    expect(secretsOfUrl('postgres://u:p%40s^s@h.test/d')).toEqual(
      expect.arrayContaining(['postgres://u:p%40s^s@h.test/d', 'p%40s^s', 'p%40s%5Es', 'p@s^s']),
    )
    expect(secretsOfUrl('postgres://u:a:b@c@h.test/d')).toContain('a:b@c')
    expect(secretsOfUrl('postgres://u@h.test/d')).toEqual(['postgres://u@h.test/d'])
    expect(secretsOfUrl('http://token@proxy.test')).toContain('token')
    expect(secretsOfUrl('postgres://u:%zz@h.test/d')).toContain('%zz')
  })
})

test('a Config is frozen to its depths', () => {
  const config = loadConfig({ ...account, OPS_TOKENS: 'alice:0123456789abcdef' })
  const check = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    expect(Object.isFrozen(value)).toBe(true)
    Object.values(value).forEach(check)
  }
  check(config)
})

test('only the HTTP client gets the proxies with their passwords', () => {
  const config = loadConfig({ ...account, HTTPS_PROXY: 'http://u:p@a.test', NO_PROXY: 'x.test' })
  expect(proxySettings(config)).toEqual({ httpsProxy: 'http://u:p@a.test', noProxy: 'x.test' })
  expect(proxySettings(loadConfig(account))).toEqual({})
})
