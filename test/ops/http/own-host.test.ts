import { request } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { securityHeaders } from '../../../src/ops/http/api/security-headers.ts'
import { isOwnHost } from '../../../src/ops/http/own-host.ts'
import { databaseEnv, startServe } from '../../e2e/serve.ts'
import { testDatabases } from '../../tools/databases.ts'

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

/** @returns the status of a request that names another host than it connects to. */
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

it('another name in Host gets 421 on every route but those of probes and monitoring, whatever token comes with it', async () => {
  const opened = await testDatabases[0]?.open()
  if (opened === undefined) throw new Error('there is no database')
  onTestFinished(() => opened.close())
  const token = 'alice-0123456789-abcdef'
  const serve = await startServe({
    ...databaseEnv(opened.config),
    ...{ BROKER_API_BASE_URL: 'http://127.0.0.1:9/api/v1', BROKER_API_CLIENT_ID: 'bac_1', BROKER_API_CLIENT_SECRET: 'bas_secret_1' },
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
