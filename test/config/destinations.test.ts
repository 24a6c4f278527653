// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of the settings file are written like that.
import { describe, expect, test } from 'vitest'
import { type DestinationConfig, loadConfig } from '../../src/config/config.ts'
import { secretValues } from '../../src/config/secret-values.ts'
import { presetFiles, withPresets } from '../../src/config/sources/presets.ts'
import { account, file, hook, problemsOf, withFile } from './support.ts'

const env = { ...account, S1: hook(11), S2: hook(12), PASSWORD: 'p&ss-word', TOKEN: 'token-of-the-ams', CLIENT_SECRET: 'cs-of-the-ams' }

function load(yaml: string, more: Record<string, string> = {}) {
  return loadConfig(withFile(yaml, { ...env, ...more }))
}

function first(yaml: string): DestinationConfig | undefined {
  return load(yaml).destinations[0]
}

function problems(yaml: string): readonly string[] {
  return problemsOf(withFile(yaml, env))
}

const webhook = (more = '') => `{ name: agency, kind: webhook, url: "https://ams.test/in", secret: "\${S1}"${more && `, ${more}`} }`

const ams360 = (more: string) => `{ name: d, kind: ams360, url: "https://a.test", user: wsapi, ${more} }`

describe('the settings of a destination', () => {
  test('a webhook needs a name, a URL and a secret, and has the defaults of the contract besides', () => {
    const destination = first(`destinations: [${webhook()}]`)
    expect(destination).toMatchObject({
      name: 'agency',
      kind: 'webhook',
      url: 'https://ams.test/in',
      accounts: ['default'],
      entities: null,
      operations: null,
      eventTypes: null,
      personalFields: [],
      start: 'now',
      backfill: false,
      maxAgeMs: null,
      onDead: 'continue',
      mapping: 'none',
      allowPrivate: false,
      allowHosts: null,
      timeoutMs: 20_000,
      rps: null,
      concurrency: 16,
      idempotent: true,
    })
    // At least ten tries over 75 hours.
    const hours = [2, 5, 10, 14, 20, 24].map((each) => each * 3_600_000)
    expect(destination?.scheduleMs).toEqual([5_000, 300_000, 1_800_000, ...hours])
    expect(destination?.kind === 'webhook' && destination.secrets.map((secret) => secret.reveal())).toEqual([hook(11)])
  })

  test('each key is read', () => {
    const yaml = `
push: { schedule: 1s 2s, timeout: 3s }
destinations:
  - name: one
    kind: webhook
    url: http://127.0.0.1:9000/in?x=1
    secrets: ["\${S1}", "\${S2}"]
    accounts: default
    entities: [market_events, thread_messages]
    operations: insert
    event_types: [quote_received]
    personal_fields: [thread_messages.subject]
    start: 1234567890123
    backfill: true
    max_age: 30d
    on_dead: hold
    mapping: required
    allow_private: true
    allow_hosts: [127.0.0.1, AMS.test]
    rps: 2.5
    concurrency: 3
    idempotent: false
  - { name: two, kind: webhook, url: "https://b.test", secret: "\${S1}", schedule: [1m], timeout: 9s, start: snapshot }
`
    const { destinations, shutdownGraceMs } = load(yaml)
    expect(destinations[0]).toMatchObject({
      url: 'http://127.0.0.1:9000/in?x=1',
      accounts: ['default'],
      entities: ['market_events', 'thread_messages'],
      operations: ['insert'],
      eventTypes: ['quote_received'],
      personalFields: ['thread_messages.subject'],
      start: 1_234_567_890_123,
      backfill: true,
      maxAgeMs: 2_592_000_000,
      onDead: 'hold',
      mapping: 'required',
      allowPrivate: true,
      allowHosts: ['127.0.0.1', 'ams.test'],
      timeoutMs: 3_000,
      scheduleMs: [1_000, 2_000],
      rps: 2.5,
      concurrency: 3,
      idempotent: false,
    })
    expect(destinations[0]?.kind === 'webhook' && destinations[0].secrets.map((secret) => secret.reveal())).toEqual([hook(11), hook(12)])
    expect(destinations[1]).toMatchObject({ start: 'snapshot', timeoutMs: 9_000, scheduleMs: [60_000], url: 'https://b.test/' })
    expect(shutdownGraceMs).toBe(25_000)
  })

  test('the grace is longer when a destination is not idempotent, unless it is set', () => {
    expect(load(`destinations: [${webhook()}]`).shutdownGraceMs).toBe(8_000)
    expect(load(`destinations: [${webhook('idempotent: false')}]`).shutdownGraceMs).toBe(25_000)
    expect(load(`destinations: [${webhook('idempotent: false')}]`, { SHUTDOWN_GRACE: '8s' }).shutdownGraceMs).toBe(8_000)
  })

  test('an http destination', () => {
    const destination = first(`
destinations:
  - name: ams
    kind: http
    settings: { base: "https://ams.test/api", office: 12 }
    auth: { type: oauth2, token_url: "https://ams.test/token", client_id: mirror, client_secret: "\${CLIENT_SECRET}", scope: "a b" }
    request: { url: "settings.base & '/notes'", headers: { X-Office: settings.office }, body: "{ 'text': item.entity }" }
    update: { method: PUT, url: "settings.base & '/notes/' & remoteId" }
    lookup: { method: GET, url: "settings.base", found: "body[0].id" }
    probe: { method: GET, url: "settings.base" }
    success: status = 201
    duplicate: status = 409
    remote_id: body.id
    suspend_on: [403]
`)
    expect(destination).toMatchObject({
      kind: 'http',
      idempotent: false,
      concurrency: 4,
      settings: { base: 'https://ams.test/api', office: '12' },
      suspendOn: [403],
      request: { method: 'POST', url: "settings.base & '/notes'", headers: { 'X-Office': 'settings.office' }, format: 'json' },
      update: { method: 'PUT', headers: {}, body: null },
      lookup: { method: 'GET', found: 'body[0].id' },
      probe: { method: 'GET', url: 'settings.base' },
      success: 'status = 201',
      duplicate: 'status = 409',
      remoteId: 'body.id',
    })
    const auth = { type: 'oauth2', tokenUrl: 'https://ams.test/token', clientId: 'mirror', scope: 'a b', audience: null, send: 'basic' }
    expect(destination).toMatchObject({ auth })
  })

  test.each([
    [
      '{ type: password, token_url: "https://a.test/t", username: u, password: "${PASSWORD}" }',
      { type: 'password', username: 'u', clientId: null, clientSecret: null, scope: null },
    ],
    ['{ type: basic, username: u, password: "${PASSWORD}" }', { type: 'basic', username: 'u' }],
    ['{ type: bearer, token: "${TOKEN}" }', { type: 'bearer' }],
    ['{ type: header, name: X-Api-Key, value: "${TOKEN}" }', { type: 'header', name: 'X-Api-Key' }],
  ])('auth %s', (auth, expected) => {
    expect(first(`destinations: [{ name: a, kind: http, auth: ${auth}, request: { url: "'x'" } }]`)).toMatchObject({ auth: expected })
  })

  test('notes of AMS360', () => {
    const destination = first(`destinations: [${ams360('agency: 1, password: "${TOKEN}"')}]`)
    expect(destination).toMatchObject({ kind: 'ams360', agency: '1', employee: null, idempotent: false, mapping: 'required' })
    expect(destination?.kind === 'ams360' && destination.password.reveal()).toBe('token-of-the-ams')
  })

  test('files in a folder, or on a server', () => {
    const folder = first('destinations: [{ name: a, kind: file, target: { type: folder, path: /drop } }]')
    expect(folder).toMatchObject({
      kind: 'file',
      format: 'ndjson',
      per: 'batch',
      byteOrderMark: false,
      maxRows: 10_000,
      gatherMs: 60_000,
      documents: false,
      idempotent: true,
      concurrency: 1,
      target: { type: 'folder', path: '/drop' },
    })
    expect(() => first('destinations: [{ name: a, kind: file, target: { type: folder, path: /drop }, concurrency: 2 }]')).toThrow(
      /unknown key, concurrency/,
    )
    const key = `-----BEGIN OPENSSH PRIVATE KEY-----\n${'a'.repeat(70)}\n-----END OPENSSH PRIVATE KEY-----\n`
    file(key, 'drop.key')
    const target = `{ type: sftp, host: sftp.test, username: mirror, private_key: "\${file:drop.key}", host_key: "SHA256:${'b'.repeat(43)}", path: /in }`
    const config = load(`destinations: [{ name: a, kind: file, format: csv, per: submission, max_rows: 5, gather: 2s, target: ${target} }]`)
    const [sftp] = config.destinations
    const place = { port: 22, host: 'sftp.test', password: null }
    expect(sftp).toMatchObject({ format: 'csv', per: 'submission', maxRows: 5, gatherMs: 2_000, target: place })
    expect(sftp?.kind === 'file' && sftp.target.type === 'sftp' && sftp.target.privateKey?.reveal()).toBe(key)
    expect(secretValues(config)).toEqual(expect.arrayContaining([key, 'a'.repeat(70)]))
  })

  test('the log masks every secret of every kind, as stored and as sent', () => {
    const config = load(
      `
destinations:
  - ${webhook()}
  - { name: b, kind: http, auth: { type: basic, username: u, password: "\${PASSWORD}" }, request: { url: "'x'" } }
  - { name: c, kind: http, auth: { type: header, name: X-Key, value: "\${TOKEN}" }, request: { url: "'x'" } }
  - ${ams360('agency: 1, password: "${CLIENT_SECRET}"')}
  - { name: e, kind: http, auth: { type: password, token_url: "https://a.test/t", username: u, password: "\${FORM}" }, request: { url: "'x'" } }
`,
      { FORM: "it's (a) secret!" },
    )
    const basic = Buffer.from('u:p&ss-word').toString('base64')
    expect(secretValues(config)).toEqual(
      expect.arrayContaining([hook(11).slice(6), 'p&ss-word', encodeURIComponent('p&ss-word'), basic, 'token-of-the-ams', 'cs-of-the-ams']),
    )
    expect(secretValues(config)).toContain('it%27s+%28a%29+secret%21')
    expect(JSON.stringify(config)).not.toMatch(/p&ss-word|token-of-the-ams|cs-of-the-ams/)
  })
})

describe('invalid destinations', () => {
  const at = 'destinations[0]'

  test('rejects credentials of a login in plain text, but not the expression that finds its token', () => {
    const login = (credential: string) =>
      problems(`
destinations:
  - { name: a, kind: http, auth: { type: login, credentials: { user: "${credential}" }, request: { url: "'x'" }, token: body.jwt }, request: { url: "'x'" } }
`)
    expect(login('${TOKEN}')).toEqual([])
    expect(login('hidden')).toEqual([expect.stringContaining('destinations[0].auth.credentials.user in CONFIG_FILE must be a reference')])
  })

  test('notes of AMS360 without a mapping, or a lookup without a column of submissions', () => {
    const of = (more: string) => problems(`destinations: [${ams360(`agency: 1, password: "\${TOKEN}", ${more}`)}]`)
    expect(of('mapping: none')).toEqual([`${at}.mapping in CONFIG_FILE must be one of required, lookup`])
    const missing = expect.stringMatching(/customer_field in CONFIG_FILE is missing; name the column of submissions/)
    expect(of('mapping: lookup')).toEqual([missing])
    expect(of('mapping: lookup, customer_field: insured')).toEqual([
      expect.stringMatching(/customer_field.* in CONFIG_FILE is not a column of submissions; the nearest one is insured_id$/),
    ])
    expect(of('mapping: lookup, customer_field: insured_name')).toEqual([])
  })

  test('rejects unknown HTTP methods, and invalid headers', () => {
    const request = (own: string) => `destinations: [{ name: a, kind: http, request: { url: x, ${own} } }]`
    const place = `${at}.request`
    expect(problems(request('method: post, headers: { "x y": "1", x-ok: "2" }'))).toEqual([
      `${place}.method in CONFIG_FILE must be one of GET, HEAD, POST, PUT, PATCH, DELETE`,
      `${place}.headers.(a key not shown) in CONFIG_FILE is not a header name`,
    ])
    expect(problems(request('headers: text'))).toEqual([`${place}.headers in CONFIG_FILE must hold headers and expressions`])
  })

  test('all problems are reported together, each with its path', () => {
    const found = problems(`
destinations:
  - { kind: webhook, url: "ftp://x", on_dead: stop, start: soon, concurrency: 0, timeot: 5s, mapping: lookup, max_age: old }
  - { name: b, kind: pigeon }
  - { name: c, kind: http }
  - { name: d, kind: file }
  - { name: e, kind: file, target: { type: sftp, host: "https://x", username: u, host_key: abc, path: /in } }
  - text
push: { schedule: [soon], timeout: 1ms }
`)
    expect(found).toEqual([
      `${at}.name in CONFIG_FILE is missing; give the destination a name, which cannot change later`,
      `${at}.start in CONFIG_FILE must be now, snapshot, or a number of the change log`,
      `${at}.max_age in CONFIG_FILE must be a duration from 1s to 3650d, such as 60s, 15m, 6h or 7d`,
      `${at}.on_dead in CONFIG_FILE must be one of continue, hold`,
      `${at}.mapping in CONFIG_FILE must be one of none, required`,
      `${at}.concurrency in CONFIG_FILE must be a whole number from 1 to 256`,
      `${at}.url in CONFIG_FILE must be a URL that begins with https://`,
      `${at} in CONFIG_FILE has an unknown key, timeot; the nearest one is timeout`,
      'destinations[1].kind in CONFIG_FILE must be one of webhook, queue, http, ams360, file',
      'destinations[2].request in CONFIG_FILE is missing; set it',
      'destinations[3].target in CONFIG_FILE is missing; set its type to folder or sftp',
      'destinations[4].target.host in CONFIG_FILE must be a host such as ams.example.com, without https:// and without a port',
      'destinations[4].target.host_key in CONFIG_FILE must be SHA256: and the fingerprint, as ssh-keygen -lf prints it',
      'destinations[5] in CONFIG_FILE must hold keys and values',
      'push.schedule[0] in CONFIG_FILE must be a duration from 1ms to 30d, such as 60s, 15m, 6h or 7d',
      'push.timeout in CONFIG_FILE must be a duration from 100ms to 10m, such as 60s, 15m, 6h or 7d',
    ])
  })

  test('a webhook without a secret or with two kinds of it, and a server without a password or key', () => {
    const hookWith = (own: string) => problems(`destinations: [{ name: a, kind: webhook, url: "https://a.test/", ${own} }]`)
    const missing = `${at}.secret in CONFIG_FILE is missing; set it, as a reference to a secret of whsec_ and base64`
    expect(hookWith('secrets: []')).toEqual([missing])
    expect(hookWith('secret: "${S1}", secrets: ["${S2}"]')).toEqual([`${at}.secrets in CONFIG_FILE and secret are both set; keep one`])
    const server = `{ type: sftp, host: a.test, username: u, host_key: "SHA256:${'b'.repeat(43)}", path: /in }`
    expect(problems(`destinations: [{ name: a, kind: file, target: ${server} }]`)).toEqual([
      `${at}.target.password in CONFIG_FILE is missing; set it or private_key`,
    ])
  })

  test('plain http but for private addresses, users in URLs, and hosts that are not allowed', () => {
    const url = (text: string, more = '') =>
      problems(`destinations: [{ name: a, kind: webhook, url: "${text}", secret: "\${S1}" ${more} }]`)
    expect(url('http://ams.test/')).toEqual([`${at}.url in CONFIG_FILE must use https; http is only allowed with allow_private: true`])
    expect(url('http://ams.test/', ', allow_private: true')).toEqual([])
    expect(url('https://u:p@ams.test/')).toEqual([
      `${at}.url in CONFIG_FILE must not hold a user or a password; set them as separate secrets`,
    ])
    expect(url('https://ams.test/', ', allow_hosts: [other.test]')).toEqual([
      `${at}.url in CONFIG_FILE has a host that allow_hosts does not list; add the host`,
    ])
    for (const host of ['"::1"', '"[0:0::1]"']) expect(url('https://[::1]:9/', `, allow_hosts: ${host}`)).toEqual([])
    const token = `{ name: a, kind: http, auth: { type: oauth2, token_url: "http://a.test/t", client_id: c, client_secret: "\${S1}" }, request: { url: "'x'" } }`
    expect(problems(`destinations: [${token}]`)).toEqual([expect.stringMatching(/auth\.token_url in CONFIG_FILE must use https/)])
  })

  test('an SFTP server that is not among the allowed hosts; an address is the same in every way of writing it', () => {
    const sftp = (host: string, allowed: string) => {
      const target = `{ type: sftp, host: "${host}", username: u, password: "\${S1}", host_key: "SHA256:${'b'.repeat(43)}", path: /in }`
      return withFile(`destinations: [{ name: a, kind: file, allow_hosts: ${allowed}, target: ${target} }]`, env)
    }
    expect(problemsOf(sftp('other.test', '[ams.test]'))).toEqual([
      `${at}.target.host in CONFIG_FILE is a host that allow_hosts does not list; add the host`,
    ])
    expect(problemsOf(sftp('AMS.test', '[ams.TEST]'))).toEqual([])
    const [destination] = loadConfig(sftp('[0:0:0::1]', '"[::1]"')).destinations
    expect(destination).toMatchObject({ allowHosts: ['::1'], target: { host: '::1' } })
  })

  test('webhook secrets that are short, long, given twice over or more than two', () => {
    const secrets = (text: string, more: Record<string, string>) =>
      problemsOf(withFile(`destinations: [{ name: a, kind: webhook, url: "https://a.test", ${text} }]`, { ...env, ...more }))
    const wrong = /secret in CONFIG_FILE must be base64 of 24 to 64 bytes; copy the secret again from its source$/
    for (const bytes of [23, 65]) expect(secrets('secret: "${X}"', { X: hook(1, bytes) })).toEqual([expect.stringMatching(wrong)])
    expect(secrets('secret: "${S1}", secrets: ["${S2}"]', {})).toEqual([`${at}.secrets in CONFIG_FILE and secret are both set; keep one`])
    expect(secrets('secrets: "${S1} ${S2} ${X}"', { X: hook(3) })).toEqual([`${at}.secrets in CONFIG_FILE must not hold more than 2`])
  })

  test('duplicate names, and unknown or missing accounts', () => {
    expect(problems(`destinations: [${webhook()}, ${webhook('accounts: [other]')}]`)).toEqual([
      'destinations[1].name in CONFIG_FILE is the same as destinations[0].name in CONFIG_FILE; choose another',
      'destinations[1].accounts[0] in CONFIG_FILE is not an account of the settings; known: default',
    ])
    const of = (name: string, n: number) =>
      `{ name: ${name}, base_url: "https://a.test", client_credentials: [{ id: i, secret: "\${CLIENT}" }], webhook_secrets: ["\${HOOK${n}}"] }`
    const two = `accounts: [${of('a', 1)}, ${of('b', 2)}]\ndestinations: [${webhook()}, { name: x, kind: webhook, url: "https://a.test", secret: "\${S1}", accounts: a }]`
    expect(problemsOf(withFile(two, { S1: hook(5) }))).toEqual([
      'destinations[0].accounts in CONFIG_FILE is missing; list the accounts whose changes this destination gets',
    ])
    // Commands that use the database alone know no account.
    expect(problemsOf(withFile(`destinations: [${webhook('accounts: [other]')}]`, { S1: hook(5) }), 'database')).toEqual([])
  })

  test('tables, operations and personal columns that there are not', () => {
    const yaml = `destinations: [${webhook('entities: [market_event], operations: [inserted], personal_fields: [submissions.insured]')}]`
    expect(problems(yaml)).toEqual([
      `${at}.entities[0] in CONFIG_FILE is not a public table; the nearest one is market_events`,
      `${at}.operations[0] in CONFIG_FILE is not an operation; the nearest one is insert`,
      `${at}.personal_fields[0] in CONFIG_FILE is not a personal column; the nearest one is submissions.insured_name`,
    ])
    expect(problems(`destinations: [${webhook('entities: market_events quotes, operations: [insert, gone]')}]`)).toEqual([])
  })

  test('documents that could never go along', () => {
    const drop = (more: string) => `destinations: [{ name: a, kind: file, target: { type: folder, path: /d }, documents: true, ${more} }]`
    expect(problems(drop('entities: documents quotes, operations: update'))).toEqual([])
    expect(problems(drop('entities: [quotes], operations: [insert]'))).toEqual([
      'destinations[0].entities in CONFIG_FILE must include documents, because documents: true sends their files',
      'destinations[0].operations in CONFIG_FILE must include update, because a document is stored after it becomes known',
    ])
  })

  test('an unknown preset is the only reported problem of its destination', () => {
    expect(problems('destinations: [{ name: a, preset: "../x" }]')).toEqual([
      expect.stringMatching(/^destinations\[0\]\.preset in CONFIG_FILE is not a preset; known: /),
    ])
  })
})

describe('a preset', () => {
  test('of a hook whose address is its only credential masks the address', () => {
    const yaml = 'destinations: [{ name: z, preset: zapier }, { name: p, preset: power-automate }]'
    const config = load(yaml, {
      ZAPIER_HOOK_URL: 'https://hooks.zapier.com/hooks/catch/123/abcdef/',
      POWER_AUTOMATE_URL: 'https://a.logic.azure.com/workflows/w?sp=run&sig=abcdefghi',
    })
    expect(secretValues(config)).toEqual(expect.arrayContaining(['123/abcdef', 'abcdefghi']))
  })

  test('that updates by its request updates by that of the destination, unless it says how', () => {
    const of = (own: object) => withPresets({ destinations: [{ preset: 'salesforce', ...own }] }).tree
    const body = (own: object) => (of(own)['destinations'] as { update: { body: string } }[])[0]?.update.body
    const request = { body: '{"Name": message_id}' }
    expect(body({ request })).toBe(request.body)
    expect(body({ request, update: { body: '{"X": 1}' } })).toBe('{"X": 1}')
  })

  test.each([...presetFiles().keys()])("%s has less precedence than the destination's own setting", (preset) => {
    const alone = withPresets({ destinations: [{ preset }] })
    const [base] = alone.tree['destinations'] as Record<string, unknown>[]
    expect(alone.problems).toEqual([])
    expect(['webhook', 'http', 'ams360', 'file']).toContain(base?.['kind'])
    const own = { preset, name: 'mine', concurrency: 7, settings: { of_mine: 'x' }, entities: ['quotes'], timeout: null }
    const { tree } = withPresets({ destinations: [{ name: 'other' }, own] })
    const { timeout: _, ...given } = own
    expect(tree['destinations']).toEqual([
      { name: 'other' },
      { ...base, ...given, settings: { ...(base?.['settings'] as object | undefined), of_mine: 'x' } },
    ])
  })

  test('gives way as a whole where the destination gives a section another type', () => {
    const { tree } = withPresets({ destinations: [{ preset: 'applied-epic', auth: { type: 'bearer', token: 't' } }] })
    expect(tree['destinations']).toMatchObject([{ settings: { status: 'CLOSED' } }])
    expect((tree['destinations'] as { auth: unknown }[])[0]?.auth).toEqual({ type: 'bearer', token: 't' })
  })
})

test('a refresh token needs a key that encrypts it', () => {
  const destination = (auth: string) => `destinations: [{ name: ams, kind: http, auth: ${auth}, request: { url: '"https://ams.test"' } }]`
  const password = (refresh: string) =>
    destination(`{ type: password, token_url: "https://ams.test/t", username: u, password: "\${PASSWORD}"${refresh} }`)
  const login = destination(
    `{ type: login, credentials: { p: "\${PASSWORD}" }, request: { url: '"https://ams.test/l"' }, token: body.t, refresh: { url: '"https://ams.test/r"' }, refresh_token: body.r }`,
  )
  const why = 'needs a key in PROTECT_KEYS, because the refresh token is stored encrypted; set a key, or set `auth.refresh: false`'
  expect(problems(password(', refresh: true'))).toEqual([expect.stringContaining(`destinations[0].auth.refresh in CONFIG_FILE ${why}`)])
  expect(problems(login)).toEqual([expect.stringContaining(`destinations[0].auth.refresh_token in CONFIG_FILE ${why}`)])
  expect(problems(password(''))).toEqual([])
  const key = `k1:${Buffer.alloc(32, 1).toString('base64')}`
  const auth = { refreshToken: 'body.r', refresh: { method: 'POST' } }
  expect(load(login, { PROTECT_KEYS: key }).destinations[0]).toMatchObject({ auth })
})

test('a client certificate is named by references to its files, whose paths the program follows', () => {
  const path = file('a certificate', 'client.pem')
  const destination = first(`destinations: [${webhook('tls: { cert: "${file:client.pem}", key: "${file:client.key}" }')}]`)
  expect(destination).toMatchObject({ tls: { cert: path, key: path.replace('.pem', '.key'), ca: null } })
  const tlsProblems = (tls: string) => problems(`destinations: [${webhook(`tls: ${tls}`)}]`)
  expect(tlsProblems('{ cert: "${file:client.pem}" }')).toEqual([
    'destinations[0].tls.key in CONFIG_FILE is missing; set both cert and key',
  ])
  expect(tlsProblems('{ ca: "-----BEGIN CERTIFICATE-----" }')).toEqual([
    'destinations[0].tls.ca in CONFIG_FILE must be a reference to a file in PEM form, ${file:PATH}',
  ])
  expect(tlsProblems('{}')).toEqual(['destinations[0].tls in CONFIG_FILE is empty; set cert and key, or ca, or remove it'])
})
