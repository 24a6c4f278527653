import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { request } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { createDispatcher, type ProxySettings } from '../../../src/upstream/http/dispatcher.ts'
import { listening } from '../../tools/servers.ts'
import { listeningHere } from '../../tools/test-server.ts'

/** A proxy with these answers to CONNECT, the last repeated; '': no answer. */
async function startProxy(...answers: string[]) {
  const asked: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer()
  server.on('connection', (socket) => sockets.add(socket))
  server.on('connect', (message, socket) => {
    asked.push(message.url ?? '')
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    if (answer) socket.end(answer)
  })
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { asked, url: `http://127.0.0.1:${await listening(server)}` }
}

async function startPlain() {
  const asked: string[] = []
  const server = createServer((message, response) => {
    asked.push(message.url ?? '')
    response.writeHead(204).end()
  })
  return { asked, host: `127.0.0.1:${await listeningHere(server)}` }
}

function opened(proxy: ProxySettings, connectTimeout = 10_000) {
  const dispatcher = createDispatcher(proxy, { connectTimeout, connections: 1 })
  onTestFinished(() => dispatcher.destroy())
  return dispatcher
}

const REFUSAL = 'HTTP/1.1 502 Bad Gateway\r\n\r\n'

test('a proxy that ignores one CONNECT does not block later ones', async () => {
  const proxy = await startProxy('', REFUSAL)
  const dispatcher = opened({ httpsProxy: proxy.url }, 50)
  await expect(request('https://ams.test/', { dispatcher })).rejects.toMatchObject({ code: 'UND_ERR_HEADERS_TIMEOUT' })
  await expect(request('https://ams.test/', { dispatcher })).rejects.toThrow('Proxy response (502)')
  expect(proxy.asked).toEqual(['ams.test:443', 'ams.test:443'])
})

test('each proxy serves URLs of its scheme', async () => {
  const proxy = await startProxy(REFUSAL)
  const plain = await startPlain()
  // The server has no TLS, so the handshake fails; only the route counts.
  const direct = opened({ httpProxy: proxy.url })
  await expect(request(`https://${plain.host}/`, { dispatcher: direct })).rejects.toMatchObject({ code: 'ERR_SSL_WRONG_VERSION_NUMBER' })
  expect(proxy.asked).toEqual([])
  const { statusCode } = await request('http://ams.test/a', { dispatcher: opened({ httpProxy: `http://${plain.host}` }) })
  expect([statusCode, plain.asked]).toEqual([204, ['http://ams.test/a']])
  const unproxied = opened({ httpsProxy: proxy.url })
  await request(`http://${plain.host}/b`, { dispatcher: unproxied })
  await expect(request('https://ams.test/', { dispatcher: unproxied })).rejects.toThrow('Proxy response (502)')
  expect([proxy.asked, plain.asked]).toEqual([['ams.test:443'], ['http://ams.test/a', '/b']])
})

test('a direct host uses no proxy', async () => {
  const proxy = await startProxy(REFUSAL)
  const plain = await startPlain()
  for (const proxies of [{ httpProxy: proxy.url }, { httpsProxy: proxy.url }, { httpProxy: proxy.url, httpsProxy: proxy.url }]) {
    await request(`http://${plain.host}/`, { dispatcher: opened({ ...proxies, noProxy: '127.0.0.1' }) })
  }
  expect([proxy.asked, plain.asked]).toEqual([[], ['/', '/', '/']])
})
