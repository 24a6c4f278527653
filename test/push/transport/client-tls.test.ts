import { copyFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type ServerOptions } from 'node:https'
import { connect, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Clock, ManualClock, systemClock } from '../../../src/base/clock.ts'
import { destinationProblems } from '../../../src/ops/cli/destination-problems.ts'
import { createWebhook } from '../../../src/push/kinds/webhook.ts'
import { checkTlsFiles, type TlsFiles } from '../../../src/push/transport/client-tls.ts'
import { openTransport, type TransportResult } from '../../../src/push/transport/transport.ts'
import { silentLog } from '../../tools/databases.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { listening } from '../../tools/servers.ts'
import { listeningHere } from '../../tools/test-server.ts'
import { PATIENCE_MS } from '../../tools/until.ts'
import { selfSigned } from '../certificate.ts'
import { authority, clientOne, clientTwo, server as serverPair } from '../client-certificates.ts'
import { itemOf } from '../http/support.ts'
import { webhookTo } from '../rig.ts'

const never = new AbortController().signal
const YEAR_MS = 365 * 86_400_000

/** A server that only serves clients of the tests' certificate authority. */
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
  return { url: `https://127.0.0.1:${await listeningHere(server)}/`, clients }
}

/**
 * A way to a server on which the client gets the alert that ends the handshake. On a direct way the server closes the connection with an
 * unread request, which resets it, and the alert may be lost.
 */
async function startPatientWay(to: string): Promise<string> {
  const way = createTcpServer((socket) => {
    const target = connect(Number(new URL(to).port), '127.0.0.1')
    socket.on('data', (chunk) => target.write(chunk)).on('error', () => undefined)
    target.on('data', (chunk) => socket.write(chunk)).on('error', () => undefined)
    target.on('close', () => socket.end())
    for (const end of [socket, target]) onTestFinished(() => void end.destroy())
  })
  onTestFinished(() => void way.close())
  return `https://127.0.0.1:${await listening(way)}/`
}

/** A proxy that makes tunnels to any host. @returns its URL. */
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
  onTestFinished(() => void proxy.close())
  return `http://127.0.0.1:${await listening(proxy)}`
}

function filesOf(pair: { readonly cert: string; readonly key: string }) {
  const folder = newFolder()
  const files = { cert: join(folder, 'client.pem'), key: join(folder, 'client.key'), ca: join(folder, 'ca.pem') }
  const put = (path: string, text: string) => {
    // As a certificate tool does: the name never leads to half a file.
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
    const refused = { type: 'not_sent', error: expect.stringContaining('unknown authority') }
    expect(await transportWith({ ...files, ca: null })(server.url)).toMatchObject(refused)
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
    for (const change of [
      () => undefined,
      () => put(files.cert, clientTwo.cert),
      () => put(files.key, clientTwo.key),
      () => rmSync(files.key),
      // As a folder without access, which root may enter.
      () => symlinkSync(files.key, files.key),
    ]) {
      change()
      clock.advance(1_000)
      await send(server.url)
    }
    expect(server.clients).toEqual(['one', 'one', 'two', 'two', 'two'])
  })

  it('that a webhook needs is reported if it is missing', async () => {
    // With TLS 1.3 the server refuses after the request was sent, and its reason may be lost.
    const server = await startServer({ maxVersion: 'TLSv1.2' })
    const { files } = filesOf(clientOne)
    const destination = webhookTo(server.url, { tls: { cert: null, key: null, ca: files.ca } })
    const kind = createWebhook(destination, { clock: systemClock, log: silentLog, proxy: {} })
    onTestFinished(() => kind.close())
    const [outcome] = await kind.send([itemOf()], never)
    const error = expect.stringContaining('it may ask for a client certificate (tls.cert, tls.key)')
    expect(outcome).toMatchObject({ type: 'failed', permanent: false, error })
    expect(server.clients).toEqual([])
  })

  it('that a server of TLS 1.3 asks for in vain has let nothing arrive, though the client hears of it behind its request', async () => {
    const server = await startServer({ minVersion: 'TLSv1.3' })
    const { files } = filesOf(clientOne)
    const send = transportWith({ cert: null, key: null, ca: files.ca })
    const error = expect.stringContaining('the server asks for a client certificate')
    expect(await send(await startPatientWay(server.url))).toMatchObject({ type: 'not_sent', permanent: false, error })
    expect(server.clients).toEqual([])
  })

  it('that has ended, or has not begun, sends nothing, until its file is replaced', async () => {
    const server = await startServer()
    const { files } = filesOf(clientOne)
    const late = await transportWith(files, new ManualClock(Date.now() + 200 * YEAR_MS))(server.url)
    const error = expect.stringMatching(/^the client certificate \(tls\.cert\) expired on 2\d{3}-\d\d-\d\d; replace the file/)
    expect(late).toMatchObject({ type: 'not_sent', permanent: false, error })
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

  it('explains in a sentence what is wrong', async () => {
    const { files, put } = filesOf(clientOne)
    put(files.key, clientTwo.key)
    const why = 'destination ams: the key of tls.key does not belong to the certificate of tls.cert; use a matching pair'
    expect(problemsWith(files)).toEqual([why])
    expect(await destinationProblems([{ ...webhookTo('https://ams.test', { tls: files }), name: 'ams' }])).toEqual([why])
    copyFileSync(files.cert, files.key)
    const isWrong = (key: string, why: string) => expect(problemsWith(files)).toEqual([`destination ams: tls.${key} names a file ${why}`])
    isWrong('key', 'without a private key in PEM form that needs no passphrase')
    put(files.cert, 'nothing')
    isWrong('cert', 'without a certificate in PEM form')
    put(files.ca, selfSigned.cert.replace('MIIB', 'AAAA'))
    isWrong('ca', 'without a certificate in PEM form')
    rmSync(files.cert)
    isWrong('cert', 'that cannot be read (ENOENT); check the path and its permissions')
  })
})
