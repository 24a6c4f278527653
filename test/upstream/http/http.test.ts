import { EventEmitter, once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Http, type HttpOptions } from '../../../src/upstream/http/http.ts'
import type { Call } from '../../../src/upstream/http/operations.ts'
import { listening } from '../../tools/servers.ts'
import { type Handler, json, startService, thrownBy } from '../service.ts'

const call: Call = { operation: 'me', submissionId: null, withCursor: false }
const LONG_MS = 30_000
async function bench(handler: Handler, options: Partial<HttpOptions> = {}) {
  const service = await startService(handler)
  const timeouts = { connectMs: LONG_MS, headersMs: LONG_MS, overallMs: LONG_MS }
  const http = new Http({ baseUrl: service.baseUrl, proxy: {}, timeouts, bodyLimitBytes: 1000, ...options })
  onTestFinished(() => http.close())
  return { service, http }
}

const parts = { headers: {} }
const times = (headersMs: number, overallMs: number) => ({ timeouts: { connectMs: LONG_MS, headersMs, overallMs } })

describe('limits', () => {
  test('a missing first byte times out', async () => {
    const { http } = await bench(() => {}, times(20, LONG_MS))
    expect(await thrownBy(http.send(call, parts))).toMatchObject({ class: 'network', message: 'me: no answer within 20 ms' })
  })

  test('a missing last byte times out', async () => {
    const { http } = await bench((_, response) => response.write('{'), times(LONG_MS, 100))
    expect(await thrownBy(http.send(call, parts))).toMatchObject({ class: 'network', message: 'me: no complete answer within 100 ms' })
  })

  test('trap 52: the status of a failure counts without the end of its body', async () => {
    const { http } = await bench((_, response) => response.writeHead(404).write('{'), times(LONG_MS, 2_000))
    expect(await http.send(call, parts)).toMatchObject({ status: 404, body: null })
  })

  test('a body over the limit is not read to its end, one within it completely', async () => {
    const { http } = await bench((request, response) =>
      response.writeHead(request.url.includes('bad') ? 400 : 200).end('x'.repeat(request.url.includes('long') ? 100_000 : 1000)),
    )
    expect(await thrownBy(http.send(call, { ...parts, query: [['a', 'long']] }))).toMatchObject({ class: 'oversized' })
    expect(await http.send(call, { ...parts, query: [['a', 'long-bad']] })).toMatchObject({ status: 400, body: null })
    expect((await http.send(call, parts)).body?.length).toBe(1000)
  })

  test('text in pieces is combined, and invalid UTF-8 does not throw', async () => {
    const { http } = await bench((_, response) => {
      const bytes = Buffer.from('\ufeff"é\u{1f600}"')
      response.write(bytes.subarray(0, 5), () => response.end(Buffer.concat([bytes.subarray(5), Buffer.from([0xff])])))
    })
    expect((await http.send(call, parts)).body).toBe('"é\u{1f600}"\ufffd')
  })

  test('hanging answers do not delay others', async () => {
    const { http } = await bench((request, response) => {
      if (!request.url.includes('hang')) json(response, {})
    })
    const hanging = Array.from({ length: 20 }, () => thrownBy(http.send(call, { ...parts, query: [['a', 'hang']] })))
    expect(await http.send(call, parts)).toMatchObject({ status: 200 })
    await http.close()
    expect(await Promise.all(hanging)).toMatchObject(Array(20).fill({ class: 'network' }))
  })
})

describe('a compressed answer to a request for identity', () => {
  const encoded = (encoding: string, body: Buffer, status = 200): Handler => {
    return (_, response) => response.writeHead(status, { 'content-encoding': encoding }).end(body)
  }
  const text = '{"kind":"api_client"}'

  test.each([
    ['gzip', gzipSync(text)],
    ['X-GZIP', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['br', brotliCompressSync(text)],
    ['deflate, gzip', gzipSync(deflateSync(text))],
    ['identity', Buffer.from(text)],
  ])('is decoded: %s', async (encoding, body) => {
    const { http, service } = await bench(encoded(encoding, body))
    expect((await http.send(call, parts)).body).toBe(text)
    expect(service.arrived[0]?.headers['accept-encoding']).toBe('identity')
  })

  test('may have no body', async () => {
    const { http } = await bench(encoded('gzip', Buffer.alloc(0)))
    expect(await http.send(call, parts)).toMatchObject({ status: 200, body: '' })
  })

  test('reports an unknown or wrong encoding', async () => {
    const unknown = await bench(encoded('zstd', Buffer.from('?')))
    const why = 'is encoded as zstd, which is not supported; have its sender leave it plain'
    expect(await thrownBy(unknown.http.send(call, parts))).toMatchObject({ class: 'unavailable', message: `me: the answer ${why}` })
    const wrong = await bench(encoded('gzip', Buffer.from(text)))
    const not = 'is not the gzip that its header says (Z_DATA_ERROR)'
    expect(await thrownBy(wrong.http.send(call, parts))).toMatchObject({ class: 'unavailable', message: `me: the answer ${not}` })
    const often = await bench(encoded('gzip, gzip, gzip, gzip', gzipSync(text)))
    expect(await thrownBy(often.http.send(call, parts))).toMatchObject({
      message: 'me: the answer is encoded 4 times over, which is not supported',
    })
    const refused = await bench(encoded('zstd', Buffer.from('?'), 404))
    expect(await refused.http.send(call, parts)).toMatchObject({ status: 404, body: null })
  })

  test('is limited by its decoded length', async () => {
    const { http } = await bench(encoded('gzip', gzipSync('x'.repeat(1_000_000))))
    expect(await thrownBy(http.send(call, parts))).toMatchObject({ class: 'oversized' })
  })

  test('can be cut off', async () => {
    const { http } = await bench((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': '1000' })
      response.write(gzipSync(text).subarray(0, 15), () => response.destroy())
    })
    expect(await thrownBy(http.send(call, parts))).toMatchObject({ class: 'network', message: 'me: no answer (UND_ERR_SOCKET)' })
  })
})

/**
 * A forward proxy on loopback with CONNECT, which records requests. @param refusal answer to CONNECT instead of a tunnel; '': no answer.
 */
async function startProxy(refusal: string | null = null) {
  const asked: string[] = []
  const tunnels = new EventEmitter()
  const server = createServer((message, response) => {
    asked.push(`${message.method} ${message.url}`)
    const onward = httpRequest(message.url ?? '', { method: message.method, headers: message.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    message.pipe(onward)
  })
  server.on('connect', (message, socket, head) => {
    asked.push(`CONNECT ${message.url}`)
    tunnels.emit('asked')
    if (refusal !== null) return void (refusal === '' ? socket.resume() : socket.end(refusal))
    const { hostname, port } = new URL(`http://${message.url}`)
    const onward = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      onward.write(head)
      onward.pipe(socket).pipe(onward)
    })
    onward.on('error', () => socket.destroy())
    socket.on('error', () => onward.destroy())
  })
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { asked, tunnels, url: `http://127.0.0.1:${await listening(server)}` }
}

/** Sends to an https host through a tunnel of the proxy. */
function tunnelling(proxyUrl: string, { timeouts } = times(LONG_MS, LONG_MS), baseUrl = 'https://service.example/api/v1'): Http {
  const http = new Http({ baseUrl, proxy: { httpsProxy: proxyUrl }, timeouts, bodyLimitBytes: 1000 })
  onTestFinished(() => http.close())
  return http
}

describe('proxy', () => {
  test('requests use the configured proxy, except for configured hosts', async () => {
    const proxy = await startProxy()
    const handler: Handler = (_, response) => json(response, {})
    const through = await bench(handler, { proxy: { httpProxy: proxy.url } })
    expect(await through.http.send(call, parts)).toMatchObject({ status: 200 })
    expect(proxy.asked).toEqual([`GET ${through.service.baseUrl}/broker/me`])
    const direct = await bench(handler, { proxy: { httpProxy: proxy.url, noProxy: '127.0.0.1' } })
    expect(await direct.http.send(call, parts)).toMatchObject({ status: 200 })
    expect(proxy.asked.length).toBe(1)
  })

  test('an https host uses a tunnel', async () => {
    const proxy = await startProxy()
    const { service } = await bench((_, response) => json(response, {}))
    // The server has no TLS, so the handshake fails; only the route counts.
    const tunnelled = tunnelling(proxy.url, times(LONG_MS, LONG_MS), service.baseUrl.replace('http:', 'https:'))
    expect(await thrownBy(tunnelled.send(call, parts))).toMatchObject({ class: 'network' })
    expect(proxy.asked).toEqual([`CONNECT ${new URL(service.baseUrl).host}`])
  })

  test('a proxy without a tunnel times out like a service', async () => {
    const proxy = await startProxy('')
    const http = tunnelling(proxy.url, times(200, LONG_MS))
    expect(await thrownBy(http.send(call, parts))).toMatchObject({ class: 'network', message: 'me: no answer within 200 ms' })
  })

  test('an abort does not wait for a tunnel', async () => {
    const proxy = await startProxy('')
    const cut = new AbortController()
    const thrown = thrownBy(tunnelling(proxy.url).send(call, parts, cut.signal))
    await once(proxy.tunnels, 'asked')
    cut.abort(new Error('enough'))
    expect(await thrown).toMatchObject({ message: 'enough' })
  })

  test("a proxy's refusal is reported", async () => {
    const proxy = await startProxy('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    expect(await thrownBy(tunnelling(proxy.url).send(call, parts))).toMatchObject({
      class: 'network',
      message: 'me: no answer (the proxy answered 407)',
    })
  })

  test('without settings the environment is ignored', async () => {
    const before = process.env['HTTP_PROXY']
    process.env['HTTP_PROXY'] = 'http://127.0.0.1:1'
    try {
      const { http } = await bench((_, response) => json(response, {}), { proxy: { httpsProxy: 'http://127.0.0.1:1' } })
      expect(await http.send(call, parts)).toMatchObject({ status: 200 })
    } finally {
      if (before === undefined) delete process.env['HTTP_PROXY']
      else process.env['HTTP_PROXY'] = before
    }
  })
})
