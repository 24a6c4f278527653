// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of the settings file are written like that.
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { stateReadNames } from '../../../src/config/schema/state-reads.ts'
import { defaultRecordFields } from '../../tools/record-fields.ts'
import { account, file, hook, problemsOf } from '../support.ts'

test('one account in the environment is enough, and everything else has the default of the contract', () => {
  const { accounts, ...rest } = loadConfig(account)
  expect(rest).toEqual({
    database: { kind: 'sqlite', path: 'data/mirror.db' },
    migrateOnStart: true,
    backup: { cron: null, dir: 'data/backups', keep: 7, keepDays: null },
    reconcile: { cron: '0 3 * * *', budgetMs: 14_400_000 },
    retention: { days: 30, changesDays: 400, maxShare: 50 },
    operators: [],
    cronTimezone: 'UTC',
    stateReads: [...stateReadNames],
    recordFields: defaultRecordFields,
    taxIdFields: [],
    protect: { mode: 'drop', keys: [] },
    receiver: { host: '0.0.0.0', port: 8080, bodyLimit: 4_194_304, trustProxy: false, publicUrl: null },
    webhooks: { lostAfterMs: 900_000, silenceAfterMs: 21_600_000 },
    ops: {
      host: '127.0.0.1',
      port: 8081,
      tokens: [],
      publicUrl: null,
      sessionIdleMs: 1_800_000,
      sessionMaxMs: 43_200_000,
      mcpActions: false,
      oidc: null,
    },
    poll: { activeMs: 60_000, quietMs: 900_000, maxMs: 21_600_000, dormantMs: 604_800_000 },
    replay: { activeMs: 86_400_000, quietMs: 604_800_000, dormantMs: 2_592_000_000 },
    upstream: { rps: 10, concurrency: 8, httpsProxy: null, httpProxy: null, noProxy: null },
    documents: { mode: 'fetch', maxBytes: 64 * 1024 ** 2, totalBytes: 20 * 1024 ** 3, hosts: [], dir: 'data/documents', s3: null },
    destinations: [],
    shutdownGraceMs: 8000,
    warnings: [],
    overridden: [],
    fromEnvironment: ['BROKER_API_BASE_URL', 'BROKER_API_CLIENT_ID', 'BROKER_API_CLIENT_SECRET', 'WEBHOOK_SECRETS'],
    log: { level: 'info' },
  })
  expect(accounts).toHaveLength(1)
  expect(accounts[0]).toMatchObject({
    name: 'default',
    default: true,
    baseUrl: 'https://api.service.test/api/v1',
    scope: 'broker_mcp',
    clientCredentials: [{ id: 'bac_one' }],
  })
  expect(accounts[0]?.clientCredentials[0]?.secret.reveal()).toBe('bas_one-secret')
  expect(accounts[0]?.webhookSecrets.map((secret) => secret.reveal())).toEqual([hook(1)])
})

test('every variable is read', () => {
  const config = loadConfig({
    ...account,
    ACCOUNT: 'acme',
    BROKER_API_SCOPE: 'broker_mcp broker_submit',
    WEBHOOK_SECRETS: `${hook(1)}, ${hook(2)}\n${hook(3).slice(6)}`,
    DATABASE_URL: 'postgres://u:p@db.test/mirror',
    DATABASE_SCHEMA: 'acme_mirror',
    DATABASE_LISTEN_URL: 'postgres://u:p@direct.test/mirror',
    MIGRATE_ON_START: 'off',
    HOST: '::',
    PORT: '0',
    WEBHOOK_BODY_LIMIT: '512KiB',
    TRUST_PROXY: '10.0.0.0/8, loopback',
    PUBLIC_URL: 'https://mirror.test/',
    RETENTION_DAYS: '7',
    CHANGES_RETENTION_DAYS: 'off',
    CRON_TIMEZONE: 'America/New_York',
    OPS_HOST: '0.0.0.0',
    OPS_PORT: '9000',
    OPS_TOKENS: 'alice:0123456789abcdef bob:fedcba:9876543210',
    POLL_ACTIVE: '1s',
    POLL_QUIET: '2s',
    POLL_MAX: '3m',
    POLL_DORMANT: '3m',
    REPLAY_ACTIVE: '1h',
    REPLAY_QUIET: '2h',
    REPLAY_DORMANT: '3h',
    UPSTREAM_RPS: '0.5',
    UPSTREAM_CONCURRENCY: '2',
    HTTPS_PROXY: 'http://proxy.test:3128',
    NO_PROXY: 'localhost,.test',
    TAX_ID_FIELDS: 'owner_tax_number, Steuer-Id',
    SHUTDOWN_GRACE: '500ms',
    LOG_LEVEL: 'debug',
  })
  expect(config.accounts[0]).toMatchObject({ name: 'acme', default: true, scope: 'broker_mcp broker_submit' })
  expect(config.accounts[0]?.webhookSecrets.map((secret) => secret.reveal())).toEqual([hook(1), hook(2), hook(3).slice(6)])
  expect(config.database).toMatchObject({ kind: 'postgres', schema: 'acme_mirror' })
  expect(config.database.kind === 'postgres' && config.database.listenUrl.reveal()).toBe('postgres://u:p@direct.test/mirror')
  expect(config.migrateOnStart).toBe(false)
  const publicUrl = 'https://mirror.test'
  expect(config.receiver).toEqual({ host: '::', port: 0, bodyLimit: 524_288, trustProxy: '10.0.0.0/8,loopback', publicUrl })
  expect(config).toMatchObject({
    retention: { days: 7, changesDays: null, maxShare: 50 },
    cronTimezone: 'America/New_York',
    taxIdFields: ['owner_tax_number', 'Steuer-Id'],
    ops: { host: '0.0.0.0', port: 9000 },
  })
  expect(config.ops.tokens.map(({ name, token }) => [name, token.reveal()])).toEqual([
    ['alice', '0123456789abcdef'],
    ['bob', 'fedcba:9876543210'],
  ])
  expect(config.poll).toEqual({ activeMs: 1000, quietMs: 2000, maxMs: 180_000, dormantMs: 180_000 })
  expect(config.replay).toEqual({ activeMs: 3_600_000, quietMs: 7_200_000, dormantMs: 10_800_000 })
  expect(config.upstream).toMatchObject({ rps: 0.5, concurrency: 2, noProxy: 'localhost,.test' })
  expect(config.upstream.httpsProxy?.reveal()).toBe('http://proxy.test:3128')
  expect(config.shutdownGraceMs).toBe(500)
  expect(config.log.level).toBe('debug')
})

test('a variable with an empty value counts as not set', () => {
  const empty = { ...account, ACCOUNT: '', POLL_ACTIVE: ' ', DATABASE_URL: '', DATABASE_URL_FILE: '', CONFIG_FILE: '', POLL_MAX: undefined }
  expect(loadConfig(empty)).toEqual(loadConfig(account))
})

test('a database without an account is enough only for what needs no account', () => {
  expect(loadConfig({}, 'database').accounts).toEqual([])
  expect(problemsOf({})).toEqual([
    expect.stringMatching(/^No account is set; set BROKER_API_BASE_URL, .* or list accounts in CONFIG_FILE$/),
  ])
  // Present values are checked anyway.
  expect(problemsOf({ BROKER_API_CLIENT_ID: 'bac_one' }, 'database')).toHaveLength(3)
})

test('each missing part of an account is named, with the expected value', () => {
  expect(problemsOf({ ACCOUNT: 'acme' })).toEqual([
    "BROKER_API_BASE_URL is missing; set it to the service's base URL, version segment included",
    'BROKER_API_CLIENT_ID is missing; set it to the client id from the portal',
    'BROKER_API_CLIENT_SECRET is missing; set it to the client secret from the portal',
    'WEBHOOK_SECRETS is missing; set it',
  ])
})

test('a secret may be in a file; its last line break and byte order mark do not count', () => {
  const config = loadConfig({
    ...account,
    BROKER_API_CLIENT_SECRET: undefined,
    BROKER_API_CLIENT_SECRET_FILE: file('\ufeffbas_from file\r\n'),
    WEBHOOK_SECRETS: '',
    WEBHOOK_SECRETS_FILE: file(`${hook(4)}\n${hook(5)}\n`),
    DATABASE_URL_FILE: file('sqlite:/var/lib/mirror.db\n'),
    OPS_TOKENS_FILE: file('alice:0123456789abcdef\n'),
  })
  expect(config.accounts[0]?.clientCredentials[0]?.secret.reveal()).toBe('bas_from file')
  expect(config.accounts[0]?.webhookSecrets.map((secret) => secret.reveal())).toEqual([hook(4), hook(5)])
  expect(config.database).toEqual({ kind: 'sqlite', path: '/var/lib/mirror.db' })
  expect(config.ops.tokens.map(({ name }) => name)).toEqual(['alice'])
})

test('a variable set together with its file, an unreadable file and an empty one are problems, and cause no others', () => {
  const problems = problemsOf({
    ...account,
    BROKER_API_CLIENT_SECRET_FILE: file('bas_other'),
    WEBHOOK_SECRETS: undefined,
    WEBHOOK_SECRETS_FILE: '/nowhere/at/all',
    // SQLite, which has no schema, doesn't replace an unreadable database.
    DATABASE_URL_FILE: file('\n'),
    DATABASE_SCHEMA: 'mirror',
  })
  expect(problems).toEqual([
    'BROKER_API_CLIENT_SECRET and BROKER_API_CLIENT_SECRET_FILE are both set; keep one',
    'WEBHOOK_SECRETS_FILE names a file that cannot be read (ENOENT); check the path and its permissions',
    'DATABASE_URL_FILE names an empty file; write the value into it',
  ])
})

test('a file that is not UTF-8 is reported without its bytes', () => {
  const settings = file('')
  writeFileSync(settings, Buffer.from('\ufefflog: { level: debug }\n', 'utf16le'))
  const secret = file('')
  writeFileSync(secret, Buffer.from('bas_geheim\xfc', 'latin1'))
  const env = { ...account, CONFIG_FILE: settings, BROKER_API_CLIENT_SECRET: undefined, BROKER_API_CLIENT_SECRET_FILE: secret }
  expect(problemsOf(env)).toEqual([
    'CONFIG_FILE names a file that is not UTF-8; save it as UTF-8',
    'BROKER_API_CLIENT_SECRET_FILE names a file that is not UTF-8; save it as UTF-8',
  ])
  writeFileSync(settings, `log: { level: "\${file:${secret}}" }\n`)
  expect(problemsOf({ ...account, CONFIG_FILE: settings })).toEqual([
    'log.level in CONFIG_FILE refers to a file that is not UTF-8; save it as UTF-8',
  ])
})

test('spaces and line breaks around the path of a file do not count, as around other values', () => {
  const env = { ...account, BROKER_API_CLIENT_SECRET: undefined, BROKER_API_CLIENT_SECRET_FILE: ` ${file('bas_from file')}\r` }
  expect(loadConfig(env).accounts[0]?.clientCredentials[0]?.secret.reveal()).toBe('bas_from file')
})

test('a credential in quotes, as some readers of .env files leave it, is reported without its value', () => {
  const quoted = { BROKER_API_CLIENT_ID: '"bac_one"', BROKER_API_CLIENT_SECRET: "'bas_geheim'" }
  expect(problemsOf({ ...account, ...quoted })).toEqual([
    'BROKER_API_CLIENT_ID is in quotes, which count as part of the value; remove them',
    'BROKER_API_CLIENT_SECRET is in quotes, which count as part of the value; remove them',
  ])
})

test('a problem with the content of a file names the variable of the file', () => {
  const env = { ...account, WEBHOOK_SECRETS: undefined, WEBHOOK_SECRETS_FILE: file(`${hook(1)} short`) }
  expect(problemsOf(env)).toEqual([expect.stringMatching(/^WEBHOOK_SECRETS_FILE \(number 2\) must/)])
})

test('an unknown variable with one of our prefixes is a problem that names the nearest', () => {
  const nearest = {
    BROKER_API_CLIENT: 'BROKER_API_CLIENT_ID',
    DATABASE_PORT: 'DATABASE_',
    OPS_TOKEN: 'OPS_TOKENS',
    POLL_ACTVE: 'POLL_ACTIVE',
    POLL_MAX_FILE: 'POLL_MAX',
    REPLAY_MAX: 'REPLAY_',
    UPSTREAM_RPM: 'UPSTREAM_RPS',
    WEBHOOK_SECRET: 'WEBHOOK_SECRETS',
  }
  const problems = problemsOf({ ...account, ...Object.fromEntries(Object.keys(nearest).map((name) => [name, '5432'])) })
  const whole = (name: string) => new RegExp(`^${name}${name.endsWith('_') ? '' : '$'}`)
  expect(problems.map((problem) => problem.split(' is not a known variable; the nearest one is '))).toEqual(
    Object.entries(nearest).map(([name, near]) => [name, expect.stringMatching(whole(near))]),
  )
})

test("variables that Kubernetes sets for services with our prefixes are ignored, and so are other programs' variables", () => {
  const others = {
    DATABASE_SERVICE_HOST: '10.0.0.1',
    DATABASE_SERVICE_PORT: '5432',
    DATABASE_SERVICE_PORT_SQL: '5432',
    DATABASE_PORT: 'tcp://10.0.0.1:5432',
    DATABASE_PORT_5432_TCP_ADDR: '10.0.0.1',
    RETENTION_DAYS: '30',
    RECONCILE_CRON: '0 3 * * *',
    DOCUMENTS_DIR: 'x',
    NODE_EXTRA_CA_CERTS: '/ca.pem',
    PATH: '/bin',
    MY_POLL_ACTVE: '1',
  }
  expect(problemsOf({ ...account, ...others })).toEqual([])
})

test("a variable that is nearly one of ours is a warning, and another program's is not", () => {
  const others = { ALL_PROXY: 'x', FTP_PROXY: 'x', HOSTNAME: 'x', PORTS: '1', LOG_LEVEL_CONSOLE: 'x', NODE_ENV: 'x', no_proxy: 'x.test' }
  const { warnings } = loadConfig({ ...account, ...others, LOGLEVEL: 'debug', PUBLIC_URI: 'https://mirror.test', document_hosts: 'a.test' })
  expect(warnings).toEqual([
    'LOGLEVEL is not a known setting and has no effect. Did you mean LOG_LEVEL?',
    'PUBLIC_URI is not a known setting and has no effect. Did you mean PUBLIC_URL?',
    'document_hosts is not a known setting and has no effect. Did you mean DOCUMENT_HOSTS?',
  ])
  const yaml = 'database: { url: "sqlite:${LOGLEVEL}" }'
  expect(loadConfig({ ...account, CONFIG_FILE: file(yaml), LOGLEVEL: 'data/debug.db' }).warnings).toEqual([])
})

test('a base URL without a version segment is a warning', () => {
  const warningsOf = (url: string) => loadConfig({ ...account, BROKER_API_BASE_URL: url }).warnings
  expect(warningsOf('https://api.service.test')).toEqual([
    'the base URL of account default, https://api.service.test, does not end with a version segment such as /api/v1, and none is added. Compare it ' +
      'with the address in the portal',
  ])
  expect([...warningsOf('https://api.service.test/api/v1/'), ...warningsOf('https://gateway.test/submissions/v12')]).toEqual([])
})

test('the usual proxy variables count in lower case too, and first', () => {
  const env = { https_proxy: 'http://a.test', HTTPS_PROXY: 'http://b.test', http_proxy: 'http://c.test' }
  const proxy = loadConfig({ ...account, ...env }).upstream
  expect([proxy.httpsProxy?.reveal(), proxy.httpProxy?.reveal(), proxy.noProxy]).toEqual(['http://a.test', 'http://c.test', null])
  expect(problemsOf({ ...account, https_proxy: 'proxy.test:3128' })).toEqual([expect.stringMatching(/^https_proxy must be a URL/)])
})

test('a proxy whose user or password cannot be decoded is reported before anything starts, without its value', () => {
  for (const url of ['http://u:100%@proxy.test:3128', 'http://u%zz:p@proxy.test:3128', 'http://u:%ff@proxy.test:3128']) {
    const problems = problemsOf({ ...account, HTTPS_PROXY: url, HTTP_PROXY: url })
    expect(problems).toEqual(['HTTPS', 'HTTP'].map((scheme) => `${scheme}_PROXY is not a valid URL; in user and password write % as %25`))
  }
  expect(loadConfig({ ...account, HTTPS_PROXY: 'http://u:100%25@proxy.test:3128' }).upstream.httpsProxy?.reveal()).toContain('%25')
})

test('all problems are reported together, each in one line that names its setting', () => {
  const wrong = {
    ACCOUNT: 'Not Good',
    BROKER_API_BASE_URL: 'ftp://x',
    BROKER_API_CLIENT_ID: 'a b',
    BROKER_API_CLIENT_SECRET: ' padded ',
    BROKER_API_SCOPE: 'two  spaces',
    WEBHOOK_SECRETS: `short ${hook(1)} ${hook(2, 23)} ${hook(3, 65)}`,
    DATABASE_URL: 'mysql://x',
    DATABASE_SCHEMA: 'Not-Good',
    DATABASE_LISTEN_URL: 'nothing',
    MIGRATE_ON_START: 'perhaps',
    HOST: 'http://x',
    PORT: '65536',
    WEBHOOK_BODY_LIMIT: '4MB',
    TRUST_PROXY: 'everyone',
    OPS_HOST: 'a b',
    OPS_PORT: '-1',
    OPS_TOKENS: 'nameless a:short',
    POLL_ACTIVE: '60',
    POLL_QUIET: '0s',
    REPLAY_ACTIVE: '999ms',
    UPSTREAM_RPS: '0',
    UPSTREAM_CONCURRENCY: '1.5',
    HTTPS_PROXY: 'socks5://x',
    HTTP_PROXY: 'x',
    NO_PROXY: '\u0007',
    SHUTDOWN_GRACE: 'soon',
    LOG_LEVEL: 'loud',
    POLL_FOO: 'x',
  }
  const problems = problemsOf(wrong)
  const named = problems.map((problem) => /^([A-Z_]+(?: \(number \d\))?) /.exec(problem)?.[1])
  const ofLists: Readonly<Record<string, readonly number[]>> = { WEBHOOK_SECRETS: [1, 3, 4], OPS_TOKENS: [1, 1, 2] }
  const expected = Object.keys(wrong).flatMap((name) => ofLists[name]?.map((n) => `${name} (number ${n})`) ?? [name])
  expect(named.sort()).toEqual(expected.sort())
  for (const problem of problems) expect(problem).not.toMatch(/[\r\n]/)
})

test('times that belong together must grow', () => {
  expect(problemsOf({ ...account, POLL_ACTIVE: '16m', POLL_MAX: '8d', REPLAY_QUIET: '23h' })).toEqual([
    'POLL_ACTIVE must not be longer than POLL_QUIET',
    'POLL_MAX must not be longer than POLL_DORMANT',
    'REPLAY_ACTIVE must not be longer than REPLAY_QUIET',
  ])
})

test('the operations port is never the receiver’s, unless both are any free one', () => {
  expect(problemsOf({ ...account, PORT: '8081' })).toEqual(['OPS_PORT must differ from PORT; choose another'])
  expect(problemsOf({ ...account, PORT: '0', OPS_PORT: '0' })).toEqual([])
})

test('Postgres settings are rejected on SQLite, because their user expects Postgres', () => {
  expect(problemsOf({ ...account, DATABASE_SCHEMA: 'mirror', DATABASE_LISTEN_URL: 'postgres://x/y' })).toEqual([
    'DATABASE_SCHEMA is for Postgres only; remove it, or set DATABASE_URL to postgres://…',
    'DATABASE_LISTEN_URL is for Postgres only; remove it, or set DATABASE_URL to postgres://…',
  ])
  // The schedule of backups is for SQLite only.
  expect(problemsOf({ ...account, DATABASE_SCHEMA: 'mirror', BACKUP_CRON: '0 3 * * *' })).toHaveLength(1)
  expect(problemsOf({ ...account, DATABASE_URL: 'postgres://x/y', BACKUP_CRON: '0 3 * * *' })).toEqual([
    'BACKUP_CRON is for SQLite only; set it to off, and back up Postgres with pg_dump or the tools of the server',
  ])
})

test('no secret, token or name of a token is given twice', () => {
  expect(problemsOf({ ...account, WEBHOOK_SECRETS: `${hook(1)} ${hook(1)}`, OPS_TOKENS: 'a:0123456789abcdef a:0123456789abcdef' })).toEqual(
    [
      'WEBHOOK_SECRETS (number 2) is given twice; remove one',
      'OPS_TOKENS (number 2) has the same name as an earlier entry; choose another',
      'OPS_TOKENS (number 2) has the same token as an earlier entry; make a new one',
    ],
  )
})

test('no token is named as those who act without one are', () => {
  expect(problemsOf({ ...account, OPS_TOKENS: 'command:0123456789abcdef signal:0123456789abcdeg schedule:0123456789abcdeh' })).toEqual([
    'OPS_TOKENS (number 1) must not be named command, which is the actor of commands; choose another name',
    'OPS_TOKENS (number 2) must not be named signal, which is the actor of reloads by a signal; choose another name',
    'OPS_TOKENS (number 3) must not be named schedule, which is the actor of scheduled work; choose another name',
  ])
})

test('a token has the role behind it, or may everything', () => {
  const rolesOf = (text: string) => loadConfig({ ...account, OPS_TOKENS: text }).ops.tokens.map(({ token, role }) => [token.reveal(), role])
  expect(rolesOf('a:0123456789abcdef b:0123456789:abcdef:viewer c:0123456789abcdeg:operator d:0123456789abcdeh:admin')).toEqual([
    ['0123456789abcdef', 'admin'],
    ['0123456789:abcdef', 'viewer'],
    ['0123456789abcdeg', 'operator'],
    ['0123456789abcdeh', 'admin'],
  ])
  // An unknown word belongs to the token.
  expect(rolesOf('a:0123456789abcdef:owner')).toEqual([['0123456789abcdef:owner', 'admin']])
})
