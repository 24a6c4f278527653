// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of the settings file are written like that.
import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Secret, secretsOfUrl } from '../../src/base/secret.ts'
import { type Config, loadConfig, proxySettings } from '../../src/config/config.ts'
import { secretValues } from '../../src/config/secret-values.ts'
import { shownSettings } from '../../src/ops/status/settings.ts'
import { withoutSecretWords } from '../../src/upstream/http/answer.ts'
import { account, type Env, file, hook, problemsOf, withFile } from './support.ts'

/** Text that appears in no message or setting name, and doesn't look like a key's name. */
const odd = fc
  .uint8Array({ minLength: 24, maxLength: 64 })
  .map((bytes) => Buffer.from(bytes).toString('base64url').replace(/[-_]/g, 'Q'))
  .filter((text) => /\d/.test(text))

function parts(secret: string): string[] {
  return Array.from({ length: secret.length - 7 }, (_, start) => secret.slice(start, start + 8))
}

function texts(config: Config): string {
  const deep = inspect(config, { depth: Infinity, showHidden: true, getters: true })
  return [
    JSON.stringify(config),
    deep,
    inspect(config.accounts[0]?.clientCredentials[0]?.secret),
    `${config.accounts[0]?.webhookSecrets}`,
  ].join()
}

function expectHidden(text: string, secrets: readonly string[]): void {
  for (const part of secrets.flatMap(parts)) expect(text.includes(part)).toBe(false)
}

test('a secret is shown only by `reveal`', () => {
  const secret = new Secret('bas_hidden')
  expect(secret.reveal()).toBe('bas_hidden')
  const inspected = [inspect({ secret }), inspect(secret, { showHidden: true })]
  for (const text of [`${secret}`, String(secret), JSON.stringify({ secret }), ...inspected]) {
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
        const yaml = `accounts: [{ name: a, base_url: "https://a.test", client_credentials: [{ id: i, secret: "\${A}" }], webhook_secrets: ["\${B}"] }]`
        const env = inFile
          ? withFile(yaml, { ...common, A: a, B: whsec })
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
  const others = ['ACCOUNT', 'BROKER_API_BASE_URL', 'BROKER_API_CLIENT_ID', 'BROKER_API_SCOPE', 'DATABASE_SCHEMA', 'MIGRATE_ON_START']
  const servers = ['HOST', 'PORT', 'WEBHOOK_BODY_LIMIT', 'TRUST_PROXY', 'OPS_HOST', 'OPS_PORT', 'HTTPS_PROXY', 'NO_PROXY', 'CONFIG_FILE']
  const times = ['POLL_ACTIVE', 'REPLAY_QUIET', 'UPSTREAM_RPS', 'LOG_LEVEL', 'POLL_UNKNOWN', 'SHUTDOWN_GRACE']
  const names = [...secretNames, ...secretNames.map((name) => `${name}_FILE`), ...others, ...servers, ...times]
  // Nearly valid, so that both early and late checks reject one.
  const urls = ['https://u:%@h.test/?%#%', 'http://%', 'postgres://u:%@h:p/d', 'postgres://h/%?sslmode=%&sslkey=%']
  const shapes = ['%', 'whsec_%', 'whsec_%*', ...urls]
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
    'destinations: [{ kind: ams360, password: "%", agency: { %: {} } }, { kind: file, target: { type: sftp, host: "%/", private_key: "%" } }]',
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

describe('in the settings file', () => {
  const must = (setting: string, what: string) =>
    `${setting} in CONFIG_FILE ${what}, \${NAME} or \${file:PATH}; remove the secret from the file and replace it with a new one`
  const whole = (setting: string) => must(setting, 'must be a reference')
  const part = (setting: string) => must(setting, 'must hold its secret as a reference')
  const sas = 'https://ams.test/in?api-version=2016-10-01'
  const env: Env = {
    A: 'bas_1',
    H: hook(4),
    T: 'a-token-of-16-chars',
    K: Buffer.alloc(32, 1).toString('base64'),
    P: 'p%40ss-word',
    SIG: 'a%2Bb%3Dcd',
  }

  test.each([
    ['accounts: [{ client_credentials: [{ secret: "bas_1" }] }]', whole('accounts[0].client_credentials[0].secret')],
    [`accounts: [{ webhook_secrets: ["\${H}", "${hook(5)}"] }]`, whole('accounts[0].webhook_secrets[1]')],
    [`accounts: [{ webhook_secrets: "\${H} ${hook(5)}" }]`, whole('accounts[0].webhook_secrets[1]')],
    ['ops: { tokens: [{ name: a, token: a-token-of-16-chars }] }', whole('ops.tokens[0].token')],
    ['ops: { tokens: "a:${T} b:a-token-of-17-chars:viewer" }', whole('ops.tokens[1].token')],
    [`protect: { keys: [{ id: k, key: "${env['K']}" }] }`, whole('protect.keys[0].key')],
    [`protect: { keys: "k:${env['K']}" }`, whole('protect.keys[0].key')],
    ['database: { url: "postgres://u:hidden@h.test/d" }', part('database.url')],
    ['database: { url: "postgres://h.test/d?user=u&password=hidden" }', part('database.url')],
    ['database: { url: "postgres://h.test/d", listen_url: "postgres://u:hid${P}@h1:${P},h2/d" }', part('database.listen_url')],
    ['upstream: { https_proxy: "http://u:hidden@proxy.test" }', part('upstream.https_proxy')],
    ['upstream: { http_proxy: "http://hidden@proxy.test" }', part('upstream.http_proxy')],
    [`destinations: [{ name: a, kind: webhook, url: "${sas}&sig=hidden" }]`, part('destinations[0].url')],
    [`destinations: [{ name: a, kind: http, request: { url: "'${sas}&sig=hidden'" } }]`, part('destinations[0].request.url')],
    [`destinations: [{ name: a, kind: http, settings: { base: "${sas}&sig=hidden" } }]`, part('destinations[0].settings.base')],
    [
      'destinations: [{ kind: http, settings: { url: "https://hooks.zapier.com/hooks/catch/1/hidden/" } }]',
      part('destinations[0].settings.url'),
    ],
    ['destinations: [{ kind: webhook, url: "https://hook.eu1.make.com/hidden" }]', part('destinations[0].url')],
    [`destinations: [{ kind: http, auth: { type: oauth2, token_url: "${sas}&code=hidden" } }]`, part('destinations[0].auth.token_url')],
    [`operators: [{ name: a, kind: webhook, url: "${sas}&token=hidden" }]`, part('operators[0].url')],
    [`documents: { s3: { bucket: acme, secret_access_key: hidden } }`, whole('documents.s3.secret_access_key')],
    ['ops: { oidc: { client_secret: plain-text } }', whole('ops.oidc.client_secret')],
    ['operators: [{ name: a, kind: email, password: written }]', whole('operators[0].password')],
    [`operators: [{ name: a, kind: webhook, secret: "${hook(8)}" }]`, whole('operators[0].secret')],
    [`destinations: [{ name: a, kind: webhook, secrets: ["\${H}", "${hook(9)}"] }]`, whole('destinations[0].secrets[1]')],
    ['destinations: [{ kind: http, auth: { type: password, password: hidden } }]', whole('destinations[0].auth.password')],
    ['destinations: [{ kind: http, auth: { type: password, client_secret: hidden } }]', whole('destinations[0].auth.client_secret')],
    ['destinations: [{ kind: file, target: { type: sftp, password: "hidden ${T}" } }]', whole('destinations[0].target.password')],
    ['destinations: [{ name: a, kind: ams360, password: hidden }]', whole('destinations[0].password')],
  ])('a secret in plain text is rejected: %s', (yaml, problem) => {
    const mistakes = problemsOf(withFile(yaml, { ...account, ...env })).filter((line) => /(as )?a reference, \$/.test(line))
    expect(mistakes).toEqual([problem])
  })

  test('a reference is masked wherever the secret occurs, alone or within a text', () => {
    const yaml = `
accounts: [{ name: a, base_url: "https://a.test", client_credentials: [{ id: i, secret: "\${A}" }], webhook_secrets: "\${H}, \${HOOK1}" }]
database: { url: "postgres://u:\${P}@h.test/d", listen_url: "\${LISTEN}" }
ops: { tokens: "ann:\${T}:viewer" }
protect: { mode: encrypt, keys: "k:\${K}" }
upstream: { https_proxy: "http://u:\${P}@proxy.test:3128" }
destinations: [{ name: ams, kind: webhook, url: "${sas}&sig=\${SIG}", secret: "\${H}" }]
operators: [{ name: oncall, kind: webhook, url: "https://alerts.test/?code=\${SIG}", secret: "\${H}" }]
`
    const config = loadConfig(withFile(yaml, { ...env, LISTEN: 'postgres://u:another-one@h.test/d' }))
    expect(config.ops.tokens.map(({ name, token, role }) => [name, token.reveal(), role])).toEqual([['ann', env['T'], 'viewer']])
    expect(config.database.kind === 'postgres' && config.database.url.reveal()).toBe('postgres://u:p%40ss-word@h.test/d')
    expect(config.destinations[0]).toMatchObject({ url: `${sas}&sig=a%2Bb%3Dcd` })
    for (const secret of ['p@ss-word', 'another-one', 'a%2Bb%3Dcd', '?api-version=2016-10-01&sig=a%2Bb%3Dcd'])
      expect(secretValues(config)).toContain(secret)
    // A shown URL has the names of its query without values.
    const shown = shownSettings(config).filter(({ name }) => /\.url$/.test(name))
    expect(shown.map(({ name, value }) => [name, value])).toEqual([
      ['database.url', null],
      ['destinations.ams.url', 'https://ams.test/in?api-version=[redacted]&sig=[redacted]'],
      ['operators.oncall.url', 'https://alerts.test/?code=[redacted]'],
    ])
  })

  test('a URL without a secret is no mistake', () => {
    const yaml = `
database: { url: "postgres://u@h1.test,h2.test/d?sslmode=verify-full&sslkey=/dev/null&application_name=x" }
upstream: { https_proxy: "http://proxy.test:3128" }
destinations: [{ name: ams, kind: webhook, url: "${sas}", secret: "\${H}" }]
`
    expect(problemsOf(withFile(yaml, { ...account, ...env }))).toEqual([])
  })
})

test('there is no default secret', () => {
  expect(secretValues(loadConfig({}, 'database'))).toEqual([])
  const own = ['bas_one-secret', hook(1).slice('whsec_'.length)]
  expect(secretValues(loadConfig(account))).toEqual(expect.arrayContaining(own))
})

describe('parts of a URL that the log must mask', () => {
  test('is the whole, and the password in each way of writing it', () => {
    expect(secretsOfUrl('postgres://u:p%40s^s@h.test/d')).toEqual(
      expect.arrayContaining(['postgres://u:p%40s^s@h.test/d', 'p%40s^s', 'p%40s%5Es', 'p@s^s']),
    )
    expect(secretsOfUrl('postgres://u:a:b@c@h.test/d')).toContain('a:b@c')
    expect(secretsOfUrl('postgres://u@h.test/d')).toEqual(['postgres://u@h.test/d'])
    expect(secretsOfUrl('http://token@proxy.test')).toContain('token')
    expect(secretsOfUrl('postgres://u:%zz@h.test/d')).toContain('%zz')
  })

  test('are the values of its query, in any text that repeats it', () => {
    expect(withoutSecretWords('no route for https://a.test/in?sig=abc, nor (http://b.test?abc)')).toBe(
      'no route for https://a.test/in?sig=[redacted] nor (http://b.test?[redacted]',
    )
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
