import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { Webhook } from 'svix'
import { beforeAll, describe, expect, it } from 'vitest'
import { ARRIVAL_HEADER } from '../../src/upstream/webhook/delivery.ts'
import { databaseEnv, type ServeProcess, startServe } from '../e2e/serve.ts'
import { newSqlite } from '../tools/databases.ts'

/**
 * Headers of real proxies with the blocks of docker/reverse-proxy.md, recorded on 2026-11-27 by `node test/tools/proxies.ts`: of a delivery
 * from 127.0.0.9, and of a page. `UPSTREAM` is the address the proxy passed it to.
 */
const recorded = {
  'nginx 1.22.1': [
    { 'x-forwarded-for': '127.0.0.9', host: 'UPSTREAM', connection: 'close' },
    { host: 'console.example.com', 'x-forwarded-for': '127.0.0.9', connection: 'close' },
  ],
  'Apache 2.4.71': [
    {
      host: 'UPSTREAM',
      'x-forwarded-for': '127.0.0.9',
      'x-forwarded-host': 'hooks.example.com',
      'x-forwarded-server': 'hooks.example.com',
      connection: 'Keep-Alive',
    },
    {
      host: 'console.example.com',
      'x-forwarded-for': '127.0.0.9',
      'x-forwarded-host': 'console.example.com',
      'x-forwarded-server': 'console.example.com',
      connection: 'Keep-Alive',
    },
  ],
  'HAProxy 2.6.12': [
    { host: 'hooks.example.com', 'x-forwarded-for': '127.0.0.9' },
    { host: 'console.example.com', 'x-forwarded-for': '127.0.0.9' },
  ],
  'Caddy 2.6.2': [
    {
      host: 'hooks.example.com',
      'x-forwarded-for': '127.0.0.9',
      'x-forwarded-host': 'hooks.example.com',
      'x-forwarded-proto': 'https',
      'accept-encoding': 'gzip',
    },
    {
      host: 'console.example.com',
      'x-forwarded-for': '127.0.0.9',
      'x-forwarded-host': 'console.example.com',
      'x-forwarded-proto': 'https',
      'accept-encoding': 'gzip',
    },
  ],
} as const

const SECRET = `whsec_${Buffer.from('a secret of the tests alone').toString('base64')}`
const TOKEN = 'a-token-of-the-tests-alone'
let serve: ServeProcess

beforeAll(async () => {
  const { config, remove } = newSqlite()
  serve = await startServe({
    ...databaseEnv(config),
    BROKER_API_BASE_URL: 'http://127.0.0.1:9/api/v1',
    BROKER_API_CLIENT_ID: 'bac_1',
    BROKER_API_CLIENT_SECRET: 'bas_1',
    WEBHOOK_SECRETS: SECRET,
    TRUST_PROXY: 'loopback',
    OPS_TOKENS: `tests:${TOKEN}`,
    OPS_PUBLIC_URL: 'https://console.example.com',
  })
  return async () => {
    await serve.stop()
    await remove()
  }
})

async function post(origin: string, path: string, headers: Readonly<Record<string, string>>, body: string) {
  const { host, port } = new URL(origin)
  const sent = { ...headers, host: (headers['host'] ?? '').replace('UPSTREAM', host), 'content-type': 'application/json' }
  const { promise, resolve, reject } = Promise.withResolvers<import('node:http').IncomingMessage>()
  request({ host: '127.0.0.1', port, path, method: 'POST', headers: sent, agent: false }, resolve).on('error', reject).end(body)
  const answer = await promise
  return { status: answer.statusCode, headers: answer.headers, text: await text(answer) }
}

describe.each(Object.entries(recorded))('behind %s', (_name, [ofDelivery, ofPage]) => {
  it('a delivery counts for the sender that the proxy names', async () => {
    const [id, now, body] = [`doctor_${randomUUID()}`, new Date(), JSON.stringify({ type: 'submission_mirror.self_delivery' })]
    const signature = new Webhook(SECRET).sign(id, now, body)
    const signed = { 'svix-id': id, 'svix-timestamp': String(Math.floor(now.getTime() / 1000)), 'svix-signature': signature }
    const { status, headers } = await post(serve.receiver, '/webhooks', { ...ofDelivery, ...signed }, body)
    expect(status).toBe(204)
    expect(JSON.parse(String(headers[ARRIVAL_HEADER]))).toEqual({ peer: '127.0.0.1', sender: '127.0.0.9', is_forwarded: true })
  })

  it('a page signs in and acts, and a page of another origin does not', async () => {
    const own = { ...ofPage, origin: 'https://console.example.com' }
    const { status, headers } = await post(serve.ops, '/api/v1/session', own, JSON.stringify({ token: TOKEN }))
    expect(status).toBe(204)
    const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
    expect((await post(serve.ops, '/api/v1/reload', { ...own, cookie }, '{}')).status).toBe(200)
    expect((await post(serve.ops, '/api/v1/reload', { ...own, cookie, origin: 'https://elsewhere.example' }, '{}')).status).toBe(403)
  })
})
