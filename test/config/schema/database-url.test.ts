import { symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { splitServers } from '../../../src/base/postgres-url.ts'
import { databaseUrl, postgresUrl } from '../../../src/config/schema/database-url.ts'
import { file } from '../support.ts'

describe('SQLite', () => {
  test('is a path, relative or absolute', () => {
    const cases = [
      ['sqlite:data/mirror.db', 'data/mirror.db'],
      ['sqlite:/var/lib/mirror.db', '/var/lib/mirror.db'],
      ['sqlite:///var/lib/mirror.db', '/var/lib/mirror.db'],
      ['sqlite:./a b.db', './a b.db'],
    ] as const
    for (const [url, path] of cases) expect(databaseUrl(url)).toEqual({ value: { kind: 'sqlite', path } })
  })

  test('follows links to the file, even if it does not exist, and ends in a loop of links', () => {
    const folder = dirname(file('x'))
    const [real, first, circle] = [join(folder, 'real.db'), join(folder, 'first.db'), join(folder, 'circle.db')]
    symlinkSync('second.db', first)
    symlinkSync(real, join(folder, 'second.db'))
    symlinkSync(circle, circle)
    const pathOf = (path: string) => databaseUrl(`sqlite:${path}`)
    expect(pathOf(first)).toEqual(pathOf(real))
    writeFileSync(real, '')
    expect(pathOf(first)).toEqual({ value: { kind: 'sqlite', path: real } })
    expect(pathOf(circle)).toEqual({ value: { kind: 'sqlite', path: circle } })
  })

  test('is never in memory, where acknowledged deliveries would be lost', () => {
    for (const url of ['sqlite::memory:', 'sqlite:', 'sqlite://:memory:', 'sqlite:file::memory:?cache=shared']) {
      expect(databaseUrl(url)).toEqual({ problems: [expect.stringMatching(/^must name a file/)] })
    }
  })

  test('has no host, no parameters and no folder for its path', () => {
    const unreadable = ['sqlite:a\0b', 'sqlite: mirror.db', 'sqlite:mirror.db ']
    for (const url of [
      'sqlite://data/mirror.db',
      'sqlite:mirror.db?mode=ro',
      'sqlite:a#b',
      'sqlite:data/',
      'sqlite:file:x',
      ...unreadable,
    ]) {
      expect(databaseUrl(url)).toEqual({ problems: [expect.stringMatching(/^must be sqlite: and the path/)] })
    }
  })
})

describe('Postgres', () => {
  const H = 'postgres://u:p@h.test:5433/d'

  test('is a URL that the driver accepts unchanged', () => {
    for (const url of [H, 'postgresql://h.test/d', `${H}?sslmode=disable`, 'postgres://u:p@/d?host=/var/run/postgresql', 'postgres:///d']) {
      expect(databaseUrl(url)).toEqual({ value: { kind: 'postgres', url } })
    }
  })

  test('other databases and broken URLs are rejected', () => {
    for (const url of ['mysql://h/d', 'h.test/d', 'postgres:h', 'pg://h/d', ''])
      expect(databaseUrl(url)).toEqual({ problems: [expect.any(String)] })
    expect(postgresUrl('postgres://u:pa/ss@h/d')).toEqual({ problems: [expect.stringMatching(/^is not a valid URL; .*%2F/)] })
    expect(postgresUrl('postgres://h/d#x')).toEqual({ problems: [expect.stringMatching(/fragment/)] })
  })

  test('several servers are named as libpq understands them, and all else holds for each', () => {
    const cases: [url: string, servers: string[]][] = [
      [
        'postgres://u:p%2C@h1.test:5432,h2.test:5433/d?target_session_attrs=read-write',
        [
          'postgres://u:p%2C@h1.test:5432/d?target_session_attrs=read-write',
          'postgres://u:p%2C@h2.test:5433/d?target_session_attrs=read-write',
        ],
      ],
      ['postgres://h1,[::1]:1/d', ['postgres://h1/d', 'postgres://[::1]:1/d']],
      ['postgres://u@/d?host=h1,h2&port=1,2', ['postgres://u@/d?host=h1&port=1', 'postgres://u@/d?host=h2&port=2']],
      ['postgres:///d?host=h1,h2&port=7', ['postgres:///d?host=h1&port=7', 'postgres:///d?host=h2&port=7']],
    ]
    for (const [url, servers] of cases) {
      expect(postgresUrl(url)).toEqual({ value: url })
      expect(splitServers(url)?.map((server) => server.url)).toEqual(servers)
    }
    expect(splitServers('postgres://u:p@h1:5433,h2/d')?.map(({ name }) => name)).toEqual(['h1:5433', 'h2:5432'])
    const [first] = splitServers('postgres://h1:1,h2:2/d?sslmode=verify-full') ?? []
    expect(new pg.Client({ connectionString: first?.url })).toMatchObject({ host: 'h1', port: 1, database: 'd', ssl: {} })
  })

  test('lists of servers with different lengths, and read-only servers, are rejected', () => {
    for (const url of ['postgres://h1,/d', 'postgres://u@,h2/d', 'postgres:///d?host=h1,h2,h3&port=1,2', 'postgres://h1:1,:2/d']) {
      expect(postgresUrl(url)).toEqual({ problems: [expect.stringMatching(/^names an empty host, or not one port for each host/)] })
    }
    expect(postgresUrl('postgres://h1:1,h2:x/d')).toEqual({ problems: [expect.stringMatching(/^is not a valid URL/)] })
    for (const attributes of ['any', 'read-only', 'standby', 'prefer-standby', '']) {
      expect(postgresUrl(`${H}?target_session_attrs=${attributes}`)).toEqual({
        problems: ['must have target_session_attrs=read-write or primary, or none: the mirror needs a writable server'],
      })
    }
    expect(postgresUrl(`${H}?target_session_attrs=primary`)).toHaveProperty('value')
  })

  test('require and verify-ca become what the driver treats them as, so that it does not warn', () => {
    const ca = encodeURIComponent(file('a certificate'))
    expect(postgresUrl(`${H}?sslmode=require`)).toEqual({ value: `${H}?sslmode=verify-full` })
    expect(postgresUrl(`${H}?a=b&sslmode=verify-ca&sslrootcert=${ca}`)).toEqual({ value: `${H}?a=b&sslmode=verify-full&sslrootcert=${ca}` })
    for (const mode of ['verify-full', 'no-verify', 'disable']) {
      expect(postgresUrl(`${H}?sslmode=${mode}`)).toEqual({ value: `${H}?sslmode=${mode}` })
    }
    const asked = `${H}?uselibpqcompat=true&sslmode=require`
    expect(postgresUrl(asked)).toEqual({ value: asked })
    expect(postgresUrl(`${H}?uselibpqcompat=true&sslmode=prefer`)).toHaveProperty('value')
  })

  test('the driver reads each parameter as documented, without warnings', () => {
    const warned = vi.spyOn(process, 'emitWarning')
    const tls = (parameters: string) => {
      const parsed = postgresUrl(`${H}?${parameters}`)
      return new pg.Client({ connectionString: 'value' in parsed ? parsed.value : '' }).ssl
    }
    const path = file('a certificate')
    expect(new pg.Client({ connectionString: H }).ssl).toBe(false)
    expect(tls('sslmode=disable')).toBe(false)
    for (const mode of ['verify-full', 'require', 'verify-ca']) expect(tls(`sslmode=${mode}`)).toEqual({})
    expect(tls('sslmode=no-verify')).toEqual({ rejectUnauthorized: false })
    expect(tls(`sslrootcert=${path}`)).toEqual({ ca: 'a certificate' })
    expect(tls('uselibpqcompat=true&sslmode=require')).toEqual({ rejectUnauthorized: false })
    const checked = { ca: 'a certificate', checkServerIdentity: expect.any(Function) }
    expect(tls(`uselibpqcompat=true&sslmode=verify-ca&sslrootcert=${path}`)).toEqual(checked)
    expect(warned).not.toHaveBeenCalled()
    warned.mockRestore()
  })

  test('a mode that the driver does not know is rejected', () => {
    const unknown = { problems: [expect.stringMatching(/^has an unknown sslmode; it must be one of disable, /)] }
    for (const mode of ['requrie', 'prefer', 'allow', '', 'verify-full&sslmode=off'])
      expect(postgresUrl(`${H}?sslmode=${mode}`)).toEqual(unknown)
    expect(postgresUrl(`${H}?uselibpqcompat=true&sslmode=no-verify`)).toEqual(unknown)
    expect(postgresUrl(`${H}?uselibpqcompat=true&sslmode=verify-ca`)).toEqual({ problems: [expect.stringMatching(/without sslrootcert/)] })
    // The driver would read ssl=false as true.
    expect(postgresUrl(`${H}?ssl=false`)).toEqual({ problems: [expect.stringMatching(/sslmode=verify-full .* instead of ssl$/)] })
  })

  test("a TLS parameter that the driver doesn't know is rejected, because the driver would connect without TLS", () => {
    const unknown = { problems: ['has an unknown TLS parameter; known are sslmode, sslrootcert, sslcert and sslkey'] }
    for (const name of ['sslmod', 'SSLMODE', 'sslMode', 'ssl_mode', 'sslrootcerts', 'sslcrl', 'tls', 'tlsmode'])
      expect(postgresUrl(`${H}?${name}=verify-full`)).toEqual(unknown)
    for (const known of ['sslmode=verify-full&sslnegotiation=direct', 'application_name=x&channel_binding=require&connect_timeout=5'])
      expect(postgresUrl(`${H}?${known}`)).toEqual({ value: `${H}?${known}` })
  })

  test('unreadable files are reported together before the first connection', () => {
    expect(postgresUrl(`${H}?sslrootcert=/nowhere/ca.pem&sslcert=/nowhere/c.pem&sslkey=/`)).toEqual({
      problems: [
        'names a file in sslrootcert that cannot be read (ENOENT); check the path and its permissions',
        'names a file in sslcert that cannot be read (ENOENT); check the path and its permissions',
        'names a file in sslkey that cannot be read (EISDIR); check the path and its permissions',
      ],
    })
  })
})
