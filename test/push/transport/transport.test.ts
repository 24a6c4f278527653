import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock, systemClock } from '../../../src/base/clock.ts'
import { type OutgoingRequest, openTransport, type TransportOptions } from '../../../src/push/transport/transport.ts'
import type { ProxySettings } from '../../../src/upstream/http/dispatcher.ts'
import { listeningHere } from '../../tools/test-server.ts'
import { PATIENCE_MS } from '../../tools/until.ts'
import { selfSigned } from '../certificate.ts'
import { type Behavior, startReceiver } from '../receiver.ts'

const open = { allowPrivate: true, allowHosts: null, idempotent: true, concurrency: 1 } as const
const answers: Behavior = (_, response) => response.writeHead(204).end()
const never = new AbortController().signal

function transportOf(
  over: Partial<Parameters<typeof openTransport>[0]> = {},
  proxy: ProxySettings = {},
  options: Partial<TransportOptions> = {},
) {
  const transport = openTransport({ ...open, ...over }, proxy, { clock: systemClock, ...options })
  onTestFinished(() => transport.close())
  return transport
}

function post(url: string, over: Partial<OutgoingRequest> = {}): OutgoingRequest {
  return { method: 'POST', url, headers: { 'content-type': 'text/plain' }, body: 'hello', timeoutMs: PATIENCE_MS, ...over }
}

async function startTcp(handle: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    handle(socket)
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  return `http://127.0.0.1:${await listeningHere(server)}/`
}

async function answerBegun(): Promise<void> {
  const channel = 'undici:request:headers'
  await new Promise<void>((resolve) => {
    const hear = () => {
      unsubscribe(channel, hear)
      setImmediate(resolve)
    }
    subscribe(channel, hear)
  })
}

const resolvesTo =
  (...addresses: string[]): NonNullable<TransportOptions['lookup']> =>
  (_, __, done) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )

describe('an answer', () => {
  test('has its status, headers in lower case, and body', async () => {
    const receiver = await startReceiver((_, response) => response.writeHead(201, { 'X-Remote': 'r1' }).end('made'))
    const result = await transportOf().send(post(receiver.url), never)
    expect(result).toMatchObject({ type: 'answer', status: 201, body: 'made', retryAfterMs: null, headers: { 'x-remote': 'r1' } })
    expect(receiver.arrived).toMatchObject([
      { method: 'POST', url: '/hook', body: 'hello', headers: { 'user-agent': 'submission-mirror' } },
    ])
  })

  test('that redirects is not followed', async () => {
    const receiver = await startReceiver((_, response) => response.writeHead(307, { location: '/elsewhere' }).end())
    expect(await transportOf().send(post(receiver.url), never)).toMatchObject({ type: 'answer', status: 307 })
    expect(receiver.arrived).toHaveLength(1)
  })

  test.each([
    [1_000_000, { isTooLong: true, text: 'is longer than 1000 bytes' }],
    [1_000, null],
  ])('of %i bytes is cut off at its limit of 1000', async (length, cut) => {
    const receiver = await startReceiver((_, response) => response.writeHead(200).end('x'.repeat(length)))
    const result = await transportOf({}, {}, { bodyLimitBytes: 1_000 }).send(post(receiver.url), never)
    expect(result).toMatchObject({ type: 'answer', status: 200, body: 'x'.repeat(1_000), cut })
  })

  test('has its Retry-After, in seconds or as a date, cut to an hour', async () => {
    let after: string | string[] = '7'
    const clock = new ManualClock()
    const date = new Date(clock.now()).toUTCString()
    const receiver = await startReceiver((_, response) => response.writeHead(503, { date, 'retry-after': after as string }).end())
    const transport = transportOf({}, {}, { clock })
    expect(await transport.send(post(receiver.url), never)).toMatchObject({ retryAfterMs: 7_000 })
    after = new Date(clock.now() + 90_000).toUTCString()
    expect(await transport.send(post(receiver.url), never)).toMatchObject({ retryAfterMs: 90_000 })
    after = '86400'
    expect(await transport.send(post(receiver.url), never)).toMatchObject({ retryAfterMs: 3_600_000 })
    // The target and a gateway may both send it.
    after = ['7', '7']
    expect(await transport.send(post(receiver.url), never)).toMatchObject({ retryAfterMs: 7_000 })
  })

  test('that is compressed although identity was requested is decoded', async () => {
    for (const [encoding, body] of [
      ['gzip', gzipSync('{"id":"r1"}')],
      ['deflate', deflateSync('{"id":"r1"}')],
      ['br', brotliCompressSync('{"id":"r1"}')],
    ] as const) {
      const receiver = await startReceiver((_, response) => response.writeHead(201, { 'content-encoding': encoding }).end(body))
      expect(await transportOf().send(post(receiver.url), never)).toMatchObject({ status: 201, body: '{"id":"r1"}', cut: null })
    }
  })

  test('that is compressed has its limit by what it decodes to, and keeps its status when it cannot be decoded', async () => {
    const answering = async (encoding: string, body: Buffer) => {
      const receiver = await startReceiver((_, response) => response.writeHead(422, { 'content-encoding': encoding }).end(body))
      return await transportOf({}, {}, { bodyLimitBytes: 10_000 }).send(post(receiver.url), never)
    }
    const long = { isTooLong: true, text: 'is longer than 10000 bytes' }
    expect(await answering('gzip', gzipSync('x'.repeat(1_000_000)))).toMatchObject({ status: 422, body: 'x'.repeat(10_000), cut: long })
    const strange = { isTooLong: false, text: 'is encoded as zstd, which is not supported; have its sender leave it plain' }
    expect(await answering('zstd', Buffer.from('?'))).toMatchObject({ status: 422, body: '', cut: strange })
    const broken = { isTooLong: false, text: 'is not the gzip that its header says (Z_BUF_ERROR)' }
    expect(await answering('gzip', gzipSync('half of it').subarray(0, 20))).toMatchObject({ status: 422, cut: broken })
  })

  test.each([200, 422])('of %i counts although its body never ends, or ends too early', async (status) => {
    const half = `HTTP/1.1 ${status} So\r\ncontent-length: 10\r\n\r\nhalf`
    const answer = { type: 'answer', status, body: 'half', cut: { isTooLong: false, text: 'broke off' } }
    const stalling = await startTcp((socket) => socket.once('data', () => socket.write(half)))
    const clock = new ManualClock(Date.now())
    const begun = answerBegun()
    const sending = transportOf({}, {}, { clock }).send(post(stalling), never)
    await begun
    clock.advance(PATIENCE_MS)
    expect(await sending).toMatchObject(answer)
    const ending = await startTcp((socket) => socket.once('data', () => socket.end(half)))
    expect(await transportOf().send(post(ending), never)).toMatchObject(answer)
  })
})

describe('without an answer the result shows whether the target can have seen the request', () => {
  test('no when nothing listens', async () => {
    const server = createTcpServer()
    const port = await listeningHere(server)
    server.close()
    await once(server, 'close')
    const result = await transportOf().send(post(`http://127.0.0.1:${port}/`), never)
    const error = expect.stringMatching(/^no answer \(ECONNREFUSED: no program listens there; compare host and port/)
    expect(result).toEqual({ type: 'not_sent', error, permanent: false })
  })

  test('no when the name has no address', async () => {
    const lookup: TransportOptions['lookup'] = (_, __, done) => done(Object.assign(new Error('none'), { code: 'ENOTFOUND' }), [])
    const result = await transportOf({}, {}, { lookup }).send(post('http://ams.example.com/'), never)
    const error = expect.stringMatching(/^no answer \(ENOTFOUND: the host name has no address; check its spelling/)
    expect(result).toEqual({ type: 'not_sent', error, permanent: false })
  })

  test('no when connecting takes too long', async () => {
    const lookup: TransportOptions['lookup'] = () => undefined
    const result = await transportOf({}, {}, { lookup }).send(post('http://ams.example.com/', { timeoutMs: 100 }), never)
    expect(result).toEqual({ type: 'not_sent', error: 'no complete answer within 100 ms', permanent: false })
  })

  test('yes when the target hangs', async () => {
    const arrived = Promise.withResolvers<void>()
    const hanging = await startTcp((socket) => void socket.once('data', () => arrived.resolve()))
    const clock = new ManualClock(Date.now())
    const sending = transportOf({}, {}, { clock }).send(post(hanging), never)
    await arrived.promise
    clock.advance(PATIENCE_MS)
    expect(await sending).toEqual({ type: 'no_answer', error: `no complete answer within ${PATIENCE_MS} ms` })
  })

  test.each([
    ['the connection is reset after the request arrived', (socket: Socket) => socket.resetAndDestroy()],
    ['the answer is no HTTP', (socket: Socket) => socket.end('220 smtp.example.com\r\n')],
    ['the answer stops before the status', (socket: Socket) => socket.end('HTTP/1.1 200')],
    ['the answer has a 1xx status alone', (socket: Socket) => socket.end('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n')],
  ])('yes when %s', async (_, answer) => {
    const url = await startTcp((socket) => socket.once('data', () => answer(socket)))
    expect(await transportOf().send(post(url), never)).toMatchObject({ type: 'no_answer' })
  })

  test('yes when the headers of the answer are too long', async () => {
    const { url } = await startReceiver((_, response) => response.writeHead(204, { 'x-long': 'x'.repeat(20_000) }).end())
    const error = expect.stringMatching(
      /^no answer \(UND_ERR_HEADERS_OVERFLOW: the headers of its answer are longer than the limit of 16 KiB/,
    )
    expect(await transportOf().send(post(url), never)).toEqual({ type: 'no_answer', error })
  })

  test('also when the caller aborts', async () => {
    const arrived = Promise.withResolvers<void>()
    const url = await startTcp((socket) => void socket.once('data', () => arrived.resolve()))
    const giveUp = new AbortController()
    const sending = transportOf().send(post(url), giveUp.signal)
    await arrived.promise
    giveUp.abort()
    const error = 'no answer before the program, or sending to this destination, was stopped'
    expect(await sending).toEqual({ type: 'no_answer', error })
    expect(await transportOf().send(post(url), giveUp.signal)).toMatchObject({ type: 'not_sent' })
  })

  test('a header that cannot be written is a permanent failure', async () => {
    const receiver = await startReceiver(answers)
    const result = await transportOf().send(post(receiver.url, { headers: { 'x-bad': 'a\r\nb' } }), never)
    expect(result).toMatchObject({ type: 'not_sent', permanent: true })
    expect(receiver.arrived).toHaveLength(0)
  })
})

describe('addresses', () => {
  test('a loopback, private or link-local address is rejected, in the URL or behind a name', async () => {
    const receiver = await startReceiver(answers)
    const { port } = new URL(receiver.url)
    const closed = { allowPrivate: false }
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '10.0.0.1', '169.254.169.254']) {
      const result = await transportOf(closed).send(post(`https://${host}:${port}/`), never)
      const error = expect.stringContaining('special address')
      expect(result, host).toMatchObject({ type: 'not_sent', permanent: true, error })
    }
    const named = transportOf(closed, {}, { lookup: resolvesTo('127.0.0.1') })
    expect(await named.send(post(`https://ams.example.com:${port}/`), never)).toMatchObject({
      type: 'not_sent',
      permanent: false,
      error: expect.stringContaining('ams.example.com resolves to 127.0.0.1'),
    })
    const mixed = transportOf(closed, {}, { lookup: resolvesTo('::ffff:127.0.0.1', '127.0.0.1') })
    expect(await mixed.send(post(`https://ams.example.com:${port}/`), never)).toMatchObject({ type: 'not_sent' })
    expect(receiver.arrived).toHaveLength(0)
  })

  test('the message for an address that no setting allows says so', async () => {
    const transport = transportOf({}, {}, { lookup: resolvesTo('169.254.169.254') })
    for (const host of ['169.254.169.254', '0.0.0.0', '[ff02::1]', 'metadata.example']) {
      const result = await transport.send(post(`http://${host}/`), never)
      expect(result, host).toMatchObject({ type: 'not_sent', error: expect.stringMatching(/which is blocked for every destination$/) })
      expect(result, host).not.toMatchObject({ error: expect.stringContaining('allow_private') })
    }
  })

  test('the addresses of a name are judged at each connection, so a later DNS answer cannot lead elsewhere', async () => {
    const asked: string[] = []
    const receiver = await startReceiver(answers)
    const { port } = new URL(receiver.url)
    // The first answer is judged and connected to; a second lookup could give another.
    const lookup: TransportOptions['lookup'] = (host, _, done) => {
      asked.push(host)
      done(null, [{ address: asked.length === 1 ? '127.0.0.1' : '169.254.169.254', family: 4 }])
    }
    const transport = transportOf({ allowPrivate: true, idempotent: false }, {}, { lookup })
    expect(await transport.send(post(`http://ams.example.com:${port}/`), never)).toMatchObject({ type: 'answer', status: 204 })
    expect(asked).toHaveLength(1)
    expect(await transport.send(post(`http://ams.example.com:${port}/`), never)).toMatchObject({ type: 'not_sent' })
    expect(receiver.arrived).toHaveLength(1)
  })

  test('with allow_hosts no other host is connected to', async () => {
    const receiver = await startReceiver(answers)
    const { port } = new URL(receiver.url)
    const transport = transportOf({ allowHosts: ['ams.example.com', 'ff02::1'] }, {}, { lookup: resolvesTo('127.0.0.1') })
    expect(await transport.send(post(`http://ams.EXAMPLE.com:${port}/`), never)).toMatchObject({ type: 'answer' })
    expect(await transport.send(post(receiver.url), never)).toMatchObject({ type: 'not_sent', permanent: true })
    // It is on the list, but refused because of its address.
    const error = expect.stringContaining('special address')
    expect(await transport.send(post('http://[ff02::1]/'), never)).toMatchObject({ type: 'not_sent', error })
  })

  test('plain http is used only with allow_private, for any request', async () => {
    const asked: string[] = []
    const lookup: TransportOptions['lookup'] = (host, _, done) => {
      asked.push(host)
      done(new Error('none'), [])
    }
    const refused = {
      type: 'not_sent',
      permanent: true,
      error: 'http://ams.example.com is plain http, which needs allow_private: true; use https',
    }
    for (const proxy of [{}, { httpProxy: 'http://127.0.0.1:9' }]) {
      const transport = transportOf({ allowPrivate: false }, proxy, { lookup })
      expect(await transport.send(post('http://ams.example.com/hook?key=1'), never)).toEqual(refused)
    }
    expect(asked).toEqual([])
  })

  test.each(['ftp://ams.example.com/', 'file:///etc/passwd', 'no URL', ''])('%s is rejected as a URL', async (url) => {
    expect(await transportOf().send(post(url), never)).toMatchObject({ type: 'not_sent', permanent: true })
  })
})

describe('connections', () => {
  test('a self-signed certificate is rejected', async () => {
    const server = createTlsServer(selfSigned, (_, response) => response.end('secret'))
    const port = await listeningHere(server)
    const result = await transportOf().send(post(`https://127.0.0.1:${port}/`), never)
    expect(result).toMatchObject({ type: 'not_sent', permanent: false, error: expect.stringMatching(/SELF_SIGNED|VERIFY/) })
  })

  test('are kept alive, except for requests that must not be sent twice', async () => {
    const ports = async (idempotent: boolean) => {
      const seen: (number | undefined)[] = []
      const server = createHttpServer((request, response) => {
        seen.push(request.socket.remotePort)
        response.end()
      })
      const url = `http://127.0.0.1:${await listeningHere(server)}/`
      const transport = transportOf({ idempotent })
      for (let n = 0; n < 3; n++) await transport.send(post(url), never)
      return new Set(seen).size
    }
    expect([await ports(true), await ports(false)]).toEqual([1, 3])
  })

  test('go through the proxy of the settings; when it refuses, nothing was sent', async () => {
    const asked: string[] = []
    let refuses = false
    const server = createHttpServer((request, response) => {
      asked.push(`${request.method} ${request.url}`)
      if (refuses) response.writeHead(407).end()
      else response.writeHead(204).end()
    })
    server.on('connect', (request, socket) => {
      asked.push(`CONNECT ${request.url}`)
      socket.end(`HTTP/1.1 ${refuses ? '407 Proxy Authentication Required' : '502 Bad Gateway'}\r\n\r\n`)
    })
    const proxyUrl = `http://127.0.0.1:${await listeningHere(server)}`
    const transport = transportOf({}, { httpProxy: proxyUrl, httpsProxy: proxyUrl })
    expect(await transport.send(post('http://ams.example.com/a'), never)).toMatchObject({ type: 'answer', status: 204 })
    // The proxy has a private address and resolves the name itself; it has no route there.
    const closed = transportOf({ allowPrivate: false }, { httpProxy: proxyUrl, httpsProxy: proxyUrl })
    expect(await closed.send(post('https://ams.example.com/a'), never)).toMatchObject({
      type: 'not_sent',
      error: 'no answer (the proxy answered 502)',
      permanent: false,
    })
    expect(await closed.send(post('https://127.0.0.1/a'), never)).toMatchObject({ type: 'not_sent', permanent: true })
    expect(asked).toEqual(['POST http://ams.example.com/a', 'CONNECT ams.example.com:443'])
    refuses = true
    for (const scheme of ['http', 'https']) {
      expect(await transport.send(post(`${scheme}://ams.example.com/b`), never)).toMatchObject({
        type: 'not_sent',
        error: 'no answer (the proxy answered 407: the proxy rejects the credentials; correct them in HTTPS_PROXY)',
        permanent: false,
      })
    }
  })

  test('that use no proxy are judged by the addresses of the name', async () => {
    const httpProxy = await startTcp((socket) => socket.destroy())
    const transport = transportOf({ allowPrivate: false }, { httpProxy }, { lookup: resolvesTo('127.0.0.1') })
    expect(await transport.send(post('https://ams.example.com/'), never)).toMatchObject({
      type: 'not_sent',
      error: expect.stringContaining('ams.example.com resolves to 127.0.0.1'),
    })
  })

  test('the error names the proxy when the proxy fails', async () => {
    const broken = new URL(await startTcp((socket) => socket.destroy())).origin
    const closed = createTcpServer()
    const away = `http://127.0.0.1:${await listeningHere(closed)}`
    closed.close()
    await once(closed, 'close')
    const tls = createTlsServer(selfSigned)
    const untrusted = `https://127.0.0.1:${await listeningHere(tls)}`
    const hint = 'compare HTTPS_PROXY with the address from the administrator of the proxy'
    const refusals = [
      [broken, 'no answer (the proxy broke off the connection)'],
      [away, `no answer (the proxy cannot be reached: ECONNREFUSED: ${hint})`],
      [untrusted, expect.stringMatching(/^no answer \(the proxy cannot be reached: .*CERT: .*NODE_EXTRA_CA_CERTS\)$/)],
    ] as const
    for (const [httpsProxy, error] of refusals) {
      const result = await transportOf({ allowPrivate: false }, { httpsProxy }).send(post('https://ams.example.com/'), never)
      expect(result).toEqual({ type: 'not_sent', error, permanent: false })
    }
  })
})
