import { once } from 'node:events'
import { copyFileSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type ServerOptions } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Clock, ManualClock, systemClock } from '../../../src/base/clock.ts'
import { destinationProblems } from '../../../src/ops/cli/destination-problems.ts'
import { createWebhook } from '../../../src/push/kinds/webhook.ts'
import { checkTlsFiles, type TlsFiles } from '../../../src/push/transport/client-tls.ts'
import { openTransport, type TransportResult } from '../../../src/push/transport/transport.ts'
import { silentLog } from '../../tools/databases.ts'
import { PATIENCE_MS } from '../../tools/until.ts'
import { selfSigned } from '../certificate.ts'
import { authority, clientOne, clientTwo, server as serverPair } from '../client-certificates.ts'
import { itemOf } from '../http/support.ts'
import { webhookTo } from '../rig.ts'

const never = new AbortController().signal
const YEAR_MS = 365 * 86_400_000

/** A server that takes requests only of clients that the authority of the tests vouches for. */
async function startServer(own: ServerOptions = {}): Promise<{ url: string; clients: string[] }> {
  const clients: string[] = []
  const server = createServer(
    { ...serverPair, ca: authority, requestCert: true, rejectUnauthorized: true, ...own },
    (request, response) => {
      const { subject } = (request.socket as TLSSocket).getPeerCertificate()
      clients.push(String(subject.CN))
      response.writeHead(204).end()
    },
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`, clients }
}

/**
 * A way to a server on which the client hears whatever alert the server ends the handshake with. On a direct one the server closes the
 * connection with a request unread, which resets it, and the alert may be lost.
 */
async function startPatientWay(to: string): Promise<string> {
  const way = createTcpServer((socket) => {
    const target = connect(Number(new URL(to).port), '127.0.0.1')
    socket.on('data', (chunk) => target.write(chunk)).on('error', () => undefined)
    target.on('data', (chunk) => socket.write(chunk)).on('error', () => undefined)
    target.on('close', () => socket.end())
    for (const end of [socket, target]) onTestFinished(() => void end.destroy())
  })
  way.listen(0, '127.0.0.1')
  await once(way, 'listening')
  onTestFinished(() => void way.close())
  return `https://127.0.0.1:${(way.address() as AddressInfo).port}/`
}

/** A proxy that makes tunnels to wherever it is asked. @returns its URL. */
async function startTunnelProxy(): Promise<string> {
  const proxy = createHttpServer()
  proxy.on('connect', ({ url = '' }, socket) => {
    const [host = '', port] = url.split(':')
    const target = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      socket.pipe(target).pipe(socket)
    })
    for (const end of [socket, target]) end.on('error', () => undefined)
    onTestFinished(() => void target.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => void proxy.close())
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

/** Files of a client, and how they are replaced. */
function filesOf(pair: { readonly cert: string; readonly key: string }) {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const files = { cert: join(folder, 'client.pem'), key: join(folder, 'client.key'), ca: join(folder, 'ca.pem') }
  const put = (path: string, text: string) => {
    // As a tool that renews certificates does: the name never leads to half a file.
    writeFileSync(`${path}.new`, text)
    renameSync(`${path}.new`, path)
  }
  put(files.cert, pair.cert)
  put(files.key, pair.key)
  put(files.ca, authority)
  return { files, put }
}

function transportWith(tls: TlsFiles | null, clock: Clock = systemClock, proxy = {}) {
  const transport = openTransport({ allowPrivate: true, allowHosts: null, idempotent: true, concurrency: 2, tls }, proxy, { clock })
  onTestFinished(() => transport.close())
  return (url: string): Promise<TransportResult> =>
    transport.send({ method: 'POST', url, headers: {}, body: 'hello', timeoutMs: PATIENCE_MS }, never)
}

describe('a client certificate', () => {
  it('is shown to the server, which is known by the authority of tls.ca', async () => {
    const server = await startServer()
    const { files } = filesOf(clientOne)
    expect(await transportWith(files)(server.url)).toMatchObject({ type: 'answer', status: 204 })
    expect(server.clients).toEqual(['one'])
    expect(await transportWith({ ...files, ca: null })(server.url)).toMatchObject({
      type: 'not_sent',
      error: expect.stringContaining('unknown authority'),
    })
  })

  it('goes through the tunnel of a proxy', async () => {
    const server = await startServer()
    const { files } = filesOf(clientOne)
    const proxy = await startTunnelProxy()
    expect(await transportWith(files, systemClock, { httpsProxy: proxy })(server.url)).toMatchObject({ type: 'answer', status: 204 })
    expect(server.clients).toEqual(['one'])
  })

  it('is read again when its files change, and the former one is used while they do not fit', async () => {
    const server = await startServer()
    const { files, put } = filesOf(clientOne)
    const clock = new ManualClock(Date.now())
    const send = transportWith(files, clock)
    await send(server.url)
    put(files.cert, clientTwo.cert)
    clock.advance(1_000)
    await send(server.url)
    put(files.key, clientTwo.key)
    clock.advance(1_000)
    await send(server.url)
    rmSync(files.key)
    clock.advance(1_000)
    await send(server.url)
    // As a folder that may not be entered any more, which root may.
    symlinkSync(files.key, files.key)
    clock.advance(1_000)
    await send(server.url)
    expect(server.clients).toEqual(['one', 'one', 'two', 'two', 'two'])
  })

  it('that a webhook needs is told where it is missing', async () => {
    // In TLS 1.3 a server refuses when the request is on its way already, and its reason may be lost.
    const server = await startServer({ maxVersion: 'TLSv1.2' })
    const { files } = filesOf(clientOne)
    const kind = createWebhook(webhookTo(server.url, { tls: { cert: null, key: null, ca: files.ca } }), {
      clock: systemClock,
      log: silentLog,
      proxy: {},
    })
    onTestFinished(() => kind.close())
    const [outcome] = await kind.send([itemOf()], never)
    expect(outcome).toMatchObject({
      type: 'failed',
      permanent: false,
      error: expect.stringContaining('it may ask for a client certificate (tls.cert, tls.key)'),
    })
    expect(server.clients).toEqual([])
  })

  it('that a server of TLS 1.3 asks for in vain has let nothing arrive, though the client hears of it behind its request', async () => {
    const server = await startServer({ minVersion: 'TLSv1.3' })
    const { files } = filesOf(clientOne)
    const send = transportWith({ cert: null, key: null, ca: files.ca })
    expect(await send(await startPatientWay(server.url))).toMatchObject({
      type: 'not_sent',
      permanent: false,
      error: expect.stringContaining('the server asks for a client certificate'),
    })
    expect(server.clients).toEqual([])
  })

  it('that has ended, or has not begun, sends nothing, until its file is replaced', async () => {
    const server = await startServer()
    const { files } = filesOf(clientOne)
    expect(await transportWith(files, new ManualClock(Date.now() + 200 * YEAR_MS))(server.url)).toMatchObject({
      type: 'not_sent',
      permanent: false,
      error: expect.stringMatching(/^the client certificate \(tls\.cert\) ended on 2\d{3}-\d\d-\d\d; replace its file/),
    })
    const early = await transportWith(files, new ManualClock(Date.now() - 50 * YEAR_MS))(server.url)
    expect(early).toMatchObject({ type: 'not_sent', error: expect.stringContaining('is valid from') })
    expect(server.clients).toEqual([])
  })
})

describe('the check at the start', () => {
  const problemsWith = (tls: TlsFiles) => checkTlsFiles({ name: 'ams', tls })

  it('finds files that fit', async () => {
    const { files } = filesOf(clientOne)
    expect(problemsWith(files)).toEqual([])
    expect(problemsWith({ cert: null, key: null, ca: files.ca })).toEqual([])
    expect(await destinationProblems([webhookTo('https://ams.test', { tls: files })])).toEqual([])
  })

  it('tells in a sentence what does not', async () => {
    const { files, put } = filesOf(clientOne)
    put(files.key, clientTwo.key)
    const why = 'destination ams: the key of tls.key does not belong to the certificate of tls.cert; give both of one pair'
    expect(problemsWith(files)).toEqual([why])
    expect(await destinationProblems([{ ...webhookTo('https://ams.test', { tls: files }), name: 'ams' }])).toEqual([why])
    copyFileSync(files.cert, files.key)
    expect(problemsWith(files)).toEqual([
      'destination ams: tls.key names a file without a private key in PEM form that needs no passphrase',
    ])
    put(files.cert, 'nothing')
    expect(problemsWith(files)).toEqual(['destination ams: tls.cert names a file without a certificate in PEM form'])
    put(files.ca, selfSigned.cert.replace('MIIB', 'AAAA'))
    expect(problemsWith(files)).toEqual(['destination ams: tls.ca names a file without a certificate in PEM form'])
    rmSync(files.cert)
    expect(problemsWith(files)).toEqual([
      'destination ams: tls.cert names a file that cannot be read (ENOENT); check the path and its permissions',
    ])
  })
})
