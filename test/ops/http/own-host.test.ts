import { request } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { securityHeaders } from '../../../src/ops/http/api/security-headers.ts'
import { isOwnHost, isOwnOrigin, ownUrlOf } from '../../../src/ops/http/own-host.ts'
import { databaseEnv, startServe } from '../../e2e/serve.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'

it.each([
  ['localhost:8081', true],
  ['127.0.0.1:8081', true],
  ['127.9.9.9', true],
  ['[::1]:8081', true],
  ['LOCALHOST', true],
  ['10.0.0.5:8081', true],
  ['mirror.example.com', true],
  ['Mirror.Example.com:443', true],
  ['10.0.0.6:8081', false],
  ['evil.test', false],
  ['localhost.evil.test', false],
  ['127.0.0.1.evil.test', false],
  ['mirror.example.com.evil.test', false],
  ['user@localhost', false],
  ['', false],
  [undefined, false],
])('the Host %s names this server: %s', (host, isOwn) => {
  expect(isOwnHost(host, '::ffff:10.0.0.5', 'https://mirror.example.com/ops')).toBe(isOwn)
})

const PUBLIC = 'https://mirror.example.com:8443/ops'
const LOCAL = 'http://127.0.0.1:8081'
const ORIGIN = 'https://mirror.example.com:8443'

it.each([
  ['the Host as the browser sent it', { host: 'mirror.example.com:8443' }, PUBLIC],
  ["nginx's $host, without the port", { host: 'mirror.example.com' }, PUBLIC],
  ['another case and the port of https', { host: 'Mirror.Example.COM:443' }, PUBLIC],
  ["nginx's default: the upstream's address, and the Origin of a form", { host: '127.0.0.1:8081', origin: ORIGIN }, PUBLIC],
  ["Apache's default: X-Forwarded-Host", { host: '127.0.0.1:8081', 'x-forwarded-host': 'mirror.example.com:8443' }, PUBLIC],
  ['several proxies', { host: 'localhost:8081', 'x-forwarded-host': 'mirror.example.com, inner.example' }, PUBLIC],
  ['an upstream by its own address', { host: '10.0.0.5:8081', origin: ORIGIN }, PUBLIC],
  ['a tunnel', { host: '127.0.0.1:8081', origin: LOCAL }, LOCAL],
  ['a tunnel without other headers', { host: '127.0.0.1:8081' }, LOCAL],
  ['a tunnel through its own proxy', { host: '127.0.0.1:8081', 'x-forwarded-host': 'inner.example' }, LOCAL],
  ['an invalid Origin', { host: '127.0.0.1:8081', origin: 'null', 'x-forwarded-host': '' }, LOCAL],
])('the URL of this server to a browser, by %s', (_, headers, url) => {
  expect(ownUrlOf(headers, PUBLIC)).toBe(url)
  expect(ownUrlOf(headers, null)).toBe(`http://${headers.host}`)
})

it.each([
  [ORIGIN, '127.0.0.1:8081', true],
  [ORIGIN, 'mirror.example.com', true],
  [ORIGIN, 'MIRROR.example.com:443', true],
  [LOCAL, '127.0.0.1:8081', true],
  ['http://localhost:8081', 'LOCALHOST:8081', true],
  ['http://127.0.0.1:9999', '127.0.0.1:8081', false],
  ['https://evil.test', '127.0.0.1:8081', false],
  ['https://mirror.example.com:9443', '127.0.0.1:8081', false],
  ['null', '127.0.0.1:8081', false],
  [undefined, '127.0.0.1:8081', false],
])('the Origin %s with the Host %s is of a page of this server: %s', (origin, host, isOwn) => {
  expect(isOwnOrigin(origin, host, PUBLIC)).toBe(isOwn)
})

function statusOf(origin: string, path: string, host: string, token?: string): Promise<number | undefined> {
  const headers = { host, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
  return new Promise((resolve, reject) => {
    request(`${origin}${path}`, { headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
}

it('a foreign Host gets 421 on every route except probes and monitoring, with any token', async () => {
  const opened = await closedAtEnd(sqliteDatabase.open())
  const token = 'alice-0123456789-abcdef'
  const serve = await startServe({
    ...databaseEnv(opened.config),
    BROKER_API_BASE_URL: 'http://127.0.0.1:9/api/v1',
    BROKER_API_CLIENT_ID: 'bac_1',
    BROKER_API_CLIENT_SECRET: 'bas_secret_1',
    WEBHOOK_SECRETS: `whsec_${Buffer.alloc(24, 1).toString('base64')}`,
    OPS_TOKENS: `alice:${token}`,
    OPS_PUBLIC_URL: 'https://mirror.example.com',
  })
  onTestFinished(() => serve.kill())
  const of = (path: string, host: string) => statusOf(serve.ops, path, host, token)
  for (const path of ['/healthz', '/readyz', '/metrics']) expect(await of(path, 'evil.test')).toBe(200)
  for (const path of ['/api/v1/status', '/api/v1/nothing', '/api/%zz', '/', '/metrics/more']) expect(await of(path, 'evil.test')).toBe(421)
  expect(await of('/api/v1/status', 'mirror.example.com')).toBe(200)
  expect(await of('/api/v1/status', new URL(serve.ops).host)).toBe(200)
  for (const path of ['/healthz', '/metrics', '/nothing', '/api/v1/status']) {
    const { headers } = await fetch(`${serve.ops}${path}`)
    for (const [name, value] of Object.entries(securityHeaders)) expect([path, name, headers.get(name)]).toEqual([path, name, value])
  }
})
