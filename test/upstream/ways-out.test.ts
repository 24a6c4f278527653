import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { request } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { openWaysOut, type ProxySettings } from '../../src/upstream/ways-out.ts'

/** A proxy that answers each CONNECT with the next of these, and whatever comes after them with the last; '' is no answer. */
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
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function opened(proxy: ProxySettings) {
  const dispatcher = openWaysOut(proxy, { connectTimeout: 50, connections: 1 })
  onTestFinished(() => dispatcher.destroy())
  return dispatcher
}

const REFUSAL = 'HTTP/1.1 502 Bad Gateway\r\n\r\n'

test('a proxy that is silent to one CONNECT does not hold up what is asked after it', async () => {
  const proxy = await startProxy('', REFUSAL)
  const dispatcher = opened({ httpsProxy: proxy.url })
  await expect(request('https://ams.test/', { dispatcher })).rejects.toMatchObject({ code: 'UND_ERR_HEADERS_TIMEOUT' })
  await expect(request('https://ams.test/', { dispatcher })).rejects.toThrow('Proxy response (502)')
  expect(proxy.asked).toEqual(['ams.test:443', 'ams.test:443'])
})
