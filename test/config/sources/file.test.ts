// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of the settings file are written like that.
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { account, file, hook, problemsOf, withFile } from '../support.ts'

const two = `
accounts:
  - { name: acme, default: true, base_url: "https://a.test/api/v1", client_credentials: [{ id: bac_1, secret: "\${A}" }, { id: bac_2, secret: "\${A2}" }], webhook_secrets: ["\${H}"] }
  - name: acme-staging
    base_url: https://b.test/sandbox/api/v1/
    client_credentials: [{ id: bac_3, secret: "\${file:staging.secret}" }]
    scope: broker_submit
    webhook_secrets: "\${HS}"
`

describe('accounts', () => {
  test('many, with references to the environment and to files', () => {
    file('bas_3\n', 'staging.secret')
    const { accounts } = loadConfig(withFile(two, { A: 'bas_1', A2: 'bas_2', H: hook(1), HS: `${hook(2)},${hook(3)}` }))
    expect(accounts.map((each) => [each.name, each.default, each.baseUrl, each.scope])).toEqual([
      ['acme', true, 'https://a.test/api/v1', 'broker_mcp'],
      ['acme-staging', false, 'https://b.test/sandbox/api/v1', 'broker_submit'],
    ])
    const secrets = accounts.map((each) => each.clientCredentials.map(({ id, secret }) => [id, secret.reveal()]))
    expect(secrets).toEqual([
      [
        ['bac_1', 'bas_1'],
        ['bac_2', 'bas_2'],
      ],
      [['bac_3', 'bas_3']],
    ])
    expect(accounts.map((each) => each.webhookSecrets.map((secret) => secret.reveal()))).toEqual([[hook(1)], [hook(2), hook(3)]])
  })

  const one = (lines: string) =>
    `accounts:\n  - { name: a, base_url: "https://a.test", client_credentials: [{ id: i, secret: "\${CLIENT}" }], ${lines} }\n`
  const second = (lines: string) =>
    `${one(`webhook_secrets: ["\${HOOK1}"]`)}  - { base_url: "https://b.test", client_credentials: [{ id: i, secret: "\${CLIENT}" }], ${lines} }\n`

  test('none need be the default one, not even a single one', () => {
    expect(loadConfig(withFile(one(`webhook_secrets: ["\${HOOK1}"]`))).accounts[0]?.default).toBe(false)
    expect(loadConfig(withFile(one(`default: true, webhook_secrets: ["\${HOOK1}"]`))).accounts[0]?.default).toBe(true)
    expect(loadConfig(withFile(second(`name: b, webhook_secrets: ["\${HOOK2}"]`))).accounts.some((each) => each.default)).toBe(false)
  })

  test('two default ones and a name used twice are problems', () => {
    const yaml = `accounts:
  - { name: a, default: true, base_url: "https://a.test", client_credentials: [{ id: i, secret: "\${CLIENT}" }], webhook_secrets: ["\${HOOK1}"] }
  - { name: a, default: true, base_url: "https://a.test", client_credentials: [{ id: i, secret: "\${CLIENT}" }], webhook_secrets: ["\${HOOK2}"] }
`
    expect(problemsOf(withFile(yaml))).toEqual([
      'accounts[1].name in CONFIG_FILE is the same as accounts[0].name in CONFIG_FILE; choose another',
      'accounts[1].default in CONFIG_FILE must not be true, because accounts[0].default in CONFIG_FILE is true; at most one account is the default',
    ])
  })

  test('trap 36: a webhook secret belongs to one account, however it is written', () => {
    const [written, bare] = [hook(1), hook(1).slice('whsec_'.length)]
    for (const AGAIN of [written, bare]) {
      expect(problemsOf(withFile(second(`name: b, webhook_secrets: ["\${HOOK2}", "\${AGAIN}"]`), { AGAIN }))).toEqual([
        'accounts[1].webhook_secrets[1] in CONFIG_FILE is among accounts[0].webhook_secrets in CONFIG_FILE too; each account has its own',
      ])
    }
  })

  test('lists of secrets must hold something, and missing parts are named', () => {
    const yaml = 'accounts:\n  - { name: a, base_url: "https://a.test", client_credentials: [], webhook_secrets: [] }\n  - {}\n  - text\n'
    expect(problemsOf(withFile(yaml))).toEqual([
      'accounts[0].client_credentials in CONFIG_FILE must hold at least one pair of id and secret',
      'accounts[0].webhook_secrets in CONFIG_FILE must hold the signing secret of the webhook endpoint',
      'accounts[1].name in CONFIG_FILE is missing; give the account a name, which cannot change later',
      "accounts[1].base_url in CONFIG_FILE is missing; set it to the service's base URL, version segment included",
      'accounts[1].client_credentials in CONFIG_FILE is missing; set it',
      'accounts[1].webhook_secrets in CONFIG_FILE is missing; set it',
      'accounts[2] in CONFIG_FILE must hold keys and values',
    ])
  })

  test('accounts of the file and an account of the environment exclude each other', () => {
    const env = { A: 'bas_1', A2: 'bas_2', H: hook(1), HS: hook(2) }
    file('bas_3', 'staging.secret')
    expect(problemsOf(withFile(two, { ...env, ACCOUNT: 'x', WEBHOOK_SECRETS_FILE: file(hook(4)) }))).toEqual([
      'accounts in CONFIG_FILE and ACCOUNT, WEBHOOK_SECRETS_FILE in the environment are both set; keep one',
    ])
    for (const [variable, value] of Object.entries(account)) {
      const problems = problemsOf(withFile(two, { ...env, [variable]: value }))
      expect(problems).toEqual([`accounts in CONFIG_FILE and ${variable} in the environment are both set; keep one`])
    }
  })

  test('a key without a value is ignored, so the environment may describe the account', () => {
    expect(loadConfig(withFile('accounts:\npoll:\nlog:\n  level:\n', account))).toEqual(loadConfig(account))
    for (const yaml of ['# nothing\n', 'accounts: []\n']) {
      expect(problemsOf(withFile(yaml))).toEqual([expect.stringMatching(/^No account is set/)])
      expect(problemsOf(withFile(yaml), 'database')).toEqual([])
    }
  })
})

describe('single settings', () => {
  const yaml = `
database: { url: "postgres://h/d", schema: s1, listen_url: "postgres://l/d" }
migrate_on_start: false
receiver: { host: 127.0.0.1, port: 8090, body_limit: 65536, trust_proxy: [10.0.0.1, "fd00::/8"] }
ops: { host: "::1", port: "8091", tokens: [{ name: alice, token: "\${ALICE}" }] }
poll: { active: 2s, quiet: 3s, max: 4s, dormant: 5s }
replay: { active: 2h, quiet: 3h, dormant: 4h }
upstream: { rps: 1.5, concurrency: 3, https_proxy: "http://p.test", http_proxy: "http://q.test", no_proxy: x.test }
shutdown_grace: 9s
log: { level: warn }
`
  test('each key of the file is read', () => {
    const config = loadConfig(withFile(yaml, { ...account, ALICE: '0123456789abcdefg' }))
    expect(config).toMatchObject({
      database: { kind: 'postgres', schema: 's1' },
      migrateOnStart: false,
      receiver: { host: '127.0.0.1', port: 8090, bodyLimit: 65_536, trustProxy: '10.0.0.1,fd00::/8' },
      ops: { host: '::1', port: 8091, tokens: [{ name: 'alice' }] },
      poll: { activeMs: 2000, quietMs: 3000, maxMs: 4000, dormantMs: 5000 },
      replay: { activeMs: 7_200_000, quietMs: 10_800_000, dormantMs: 14_400_000 },
      upstream: { rps: 1.5, concurrency: 3, noProxy: 'x.test' },
      shutdownGraceMs: 9000,
      log: { level: 'warn' },
    })
    const url = config.database.kind === 'postgres' && [config.database.url.reveal(), config.database.listenUrl.reveal()]
    expect(url).toEqual(['postgres://h/d', 'postgres://l/d'])
    expect(config.upstream.httpsProxy?.reveal()).toBe('http://p.test')
    expect(config.ops.tokens[0]?.token.reveal()).toBe('0123456789abcdefg')
  })

  test('the environment goes before the file, one by one', () => {
    const over = { POLL_QUIET: '4s', LOG_LEVEL: 'error', OPS_TOKENS: 'bob:0123456789abcdef' }
    const config = loadConfig(withFile(yaml, { ...account, ALICE: '0123456789abcdefg', ...over }))
    expect(config.poll).toEqual({ activeMs: 2000, quietMs: 4000, maxMs: 4000, dormantMs: 5000 })
    expect(config.log.level).toBe('error')
    expect(config.ops.tokens.map(({ name }) => name)).toEqual(['bob'])
  })

  test('a problem names the place where the value came from', () => {
    expect(
      problemsOf(withFile('poll: { quiet: 7h }\nreplay: { active: 5x }\nlog: { level: [a] }', { ...account, POLL_MAX: '6h' })),
    ).toEqual([
      'poll.quiet in CONFIG_FILE must not be longer than POLL_MAX',
      expect.stringMatching(/^replay\.active in CONFIG_FILE must be a duration/),
      'log.level in CONFIG_FILE must be a single value',
    ])
  })

  test('a value instead of a section is rejected, even if the environment sets a part of the section', () => {
    expect(problemsOf(withFile('poll: 5s\nupstream: []\n', { ...account, UPSTREAM_RPS: '5' }))).toEqual([
      'poll in CONFIG_FILE must hold keys and values',
      'upstream in CONFIG_FILE must hold keys and values',
    ])
  })

  test('a variable that the file refers to may have any name', () => {
    const env = { BROKER_API_KEY: 'bas_1', WEBHOOK_SIGNING: hook(1).slice('whsec_'.length), POLL_ACTVE: '60s' }
    const yaml =
      'accounts: [{ name: a, base_url: "https://a.test", client_credentials: [{ id: i, secret: "${BROKER_API_KEY}" }], webhook_secrets: ["whsec_${WEBHOOK_SIGNING}"] }]'
    expect(problemsOf(withFile(yaml, env))).toEqual(['POLL_ACTVE is not a known variable; the nearest one is POLL_ACTIVE'])
  })

  test('unknown keys are rejected, with the nearest known one or all known ones', () => {
    expect(problemsOf(withFile('polll: {}\nsecrets: []\nreceiver: { prot: 1, hots: x }\n<<: {}\n', account))).toEqual([
      'receiver in CONFIG_FILE has an unknown key, prot; the nearest one is port',
      'receiver in CONFIG_FILE has an unknown key, hots; the nearest one is host',
      'CONFIG_FILE has an unknown key, polll; the nearest one is poll',
      expect.stringMatching(/^CONFIG_FILE has an unknown key, secrets; known are accounts, database, /),
      expect.stringMatching(/^CONFIG_FILE has an unknown key, \(a key not shown\); known are accounts, /),
    ])
  })
})

describe('references', () => {
  const level = (text: string, env: Record<string, string> = {}) => withFile(`log: { level: "${text}" }`, { ...account, ...env })

  test('may be anywhere in a text, and their values are never expanded again', () => {
    expect(loadConfig(level('$' + '{A}${B}', { A: 'de', B: 'bug' })).log.level).toBe('debug')
    expect(loadConfig(level('${file:level.txt}${B}', { B: 'o', X: file('inf\n', 'level.txt') })).log.level).toBe('info')
    const config = loadConfig(withFile('upstream: { no_proxy: "$${A}${B}" }', { ...account, A: 'x', B: '${A}: [' }))
    expect(config.upstream.noProxy).toBe('${A}${A}: [')
  })

  test('to nothing are one problem each, without further problems', () => {
    const cases: [string, RegExp][] = [
      ['${NOT_SET}', /^log\.level in CONFIG_FILE refers to the variable NOT_SET, which is not set; set it$/],
      ['${EMPTY}', /^log\.level in CONFIG_FILE refers to the variable EMPTY, which is not set; set it$/],
      ['${bas_secret}', /^log\.level in CONFIG_FILE refers to the variable, which is not set; set it$/],
      ['${constructor}', /refers to the variable, which is not set/],
      [
        '${file:nowhere}',
        /^log\.level in CONFIG_FILE refers to a file that cannot be read \(ENOENT\); check the path and its permissions$/,
      ],
      ['${file:.}', /cannot be read \(EISDIR\)/],
      ['${A', /has a \$\{ without its closing brace/],
      ['${}', /neither \$\{NAME\} nor \$\{file:PATH\}/],
      ['${A B}', /neither \$\{NAME\} nor \$\{file:PATH\}/],
    ]
    for (const [text, problem] of cases) expect(problemsOf(level(text, { EMPTY: ' ' }))).toEqual([expect.stringMatching(problem)])
  })
})

describe('a file that cannot be understood', () => {
  test('is one problem, and the accounts in it are not required', () => {
    expect(problemsOf({ CONFIG_FILE: '/nowhere/mirror.yaml' })).toEqual([
      expect.stringMatching(/^CONFIG_FILE=\S+ does not exist\. Check the path\.$/),
    ])
    expect(problemsOf(withFile('- a list\n'))).toEqual(['CONFIG_FILE must hold keys and values, such as `accounts:`'])
    expect(problemsOf(withFile('a: *nothing\n'))).toEqual([expect.stringMatching(/alias/)])
  })

  test('is reported by line and column, never by its content', () => {
    const yaml = 'accounts:\n  - name: a\n    webhook_secrets: [ "whsec_unfinished ]\n'
    const problems = problemsOf(withFile(yaml))
    expect(problems[0]).toMatch(/^CONFIG_FILE is not valid YAML at line \d+, column \d+ \([a-z ]+\); correct it there$/)
    expect(problems.join()).not.toContain('unfinished')
    const doubled = 'CONFIG_FILE is not valid YAML at line 2, column 1 (duplicate key); correct it there'
    expect(problemsOf(withFile('log: {}\nlog: {}\n'))).toEqual([doubled])
    expect(problemsOf(withFile('log: {}\n---\npoll: {}\n'))).toEqual([doubled.replace('duplicate key', 'multiple docs')])
    expect(problemsOf(withFile('log: !secret {}\n'))).toEqual([expect.stringMatching(/^CONFIG_FILE is not valid YAML at line 1, column 6/)])
  })

  test('problems of the environment are reported with it', () => {
    expect(problemsOf(withFile('{', { POLL_ACTIVE: '5' })).at(-1)).toMatch(/^POLL_ACTIVE has no unit/)
  })
})

test('texts like numbers, true or false stay unchanged', () => {
  const settings = '{ agency: 00123, version: 3.0, big: 12345678901234567890, hex: 0x1f, small: 1e-7, flag: True, negative: -5, none: ~ }'
  const destination = `{ name: one, kind: http, settings: ${settings}, request: { url: x }, suspend_on: 403 }`
  const yaml = `accounts: [{ name: 007, base_url: "https://a.test", client_credentials: [{ id: 1.10, secret: "\${CLIENT}" }], webhook_secrets: ["\${HOOK1}"], default: True }]
destinations: [${destination}]
upstream: { rps: 10.0, concurrency: 4 }
`
  const { accounts, destinations, upstream } = loadConfig(withFile(yaml))
  expect(destinations[0]).toMatchObject({
    settings: { agency: '00123', version: '3.0', big: '12345678901234567890', hex: '0x1f', small: '1e-7', flag: 'True', negative: '-5' },
    suspendOn: [403],
  })
  expect(accounts[0]).toMatchObject({ name: '007', default: true, clientCredentials: [{ id: '1.10' }] })
  expect(upstream).toMatchObject({ rps: 10, concurrency: 4 })
})

test('a value of the file that a variable overrides is not checked, but its references are, and that no secret is written out', () => {
  const yaml = 'poll: { active: 60 }\nops: { tokens: "short", public_url: "${NOWHERE}" }\nlog: { level: loud }'
  const env = { ...account, POLL_ACTIVE: '60s', OPS_TOKENS: 'me:0123456789abcdef', OPS_PUBLIC_URL: 'https://ops.example' }
  expect(problemsOf(withFile(yaml, env))).toEqual([
    'ops.public_url in CONFIG_FILE refers to the variable NOWHERE, which is not set; set it',
    'log.level in CONFIG_FILE must be one of silent, fatal, error, warn, info, debug, trace',
    expect.stringMatching(/^ops\.tokens\[0\]\.token in CONFIG_FILE must be a reference/),
  ])
})
