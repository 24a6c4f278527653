import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ManualClock } from '../../../../src/base/clock.ts'
import { loadConfig } from '../../../../src/config/config.ts'
import { LiveHub } from '../../../../src/ops/http/live/hub.ts'
import { account } from '../../../config/support.ts'
import { type OpenedDatabase, silentLog, sqliteDatabase } from '../../../tools/databases.ts'

let opened: OpenedDatabase
let stopping: AbortController
let clock: ManualClock
beforeEach(async () => {
  clock = new ManualClock(Date.now())
  opened = await sqliteDatabase.open({ clock })
  stopping = new AbortController()
})
afterEach(async () => {
  stopping.abort()
  await opened.close()
})

function sinkOf(raw: ServerResponse) {
  return {
    begin: () => true,
    write: (text: string) => void raw.write(text),
    get writableLength() {
      return raw.writableLength
    },
    end: () => void raw.end(),
    destroy: () => void raw.destroy(),
  }
}

it('a listener that does not read is cut off, and the others hear on', async () => {
  const hub = new LiveHub({ db: opened.db, config: () => loadConfig(account), log: silentLog, signal: stopping.signal })
  const closed: string[] = []
  const server = createServer(async (request, response) => {
    const leave = await hub.listen(sinkOf(response), async () => true)
    response.on('close', () => {
      closed.push(request.url ?? '')
      leave?.()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const ask = (name: string) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(`GET /${name} HTTP/1.1\r\nhost: x\r\n\r\n`)
    return socket
  }
  const [deaf, good] = [ask('deaf'), ask('good')]
  let heard = 0
  good.on('data', (chunk) => {
    heard += chunk.length
  })
  deaf.pause()
  const many = Array.from({ length: 3_000 }, () => 'change' as const)
  for (let sent = 0; closed.length === 0; sent += 1) {
    expect(sent).toBeLessThan(2_000)
    hub.publish(many)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect([closed, hub.size]).toEqual([['/deaf'], 1])
  hub.publish(['change'])
  const before = heard
  await once(good, 'data')
  expect(heard).toBeGreaterThan(before)
  good.destroy()
  deaf.destroy()
  server.close()
})

it('looks at nothing while nobody listens, and begins again with each who comes', async () => {
  let reads = 0
  const counted = Object.assign(Object.create(opened.db) as typeof opened.db, {})
  Object.defineProperty(counted, 'read', {
    get() {
      reads += 1
      return opened.db.read
    },
  })
  const hub = new LiveHub({ db: counted, config: () => loadConfig(account), log: silentLog, signal: stopping.signal })
  const lookOn = async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      clock.advance(5_000)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  expect(reads).toBe(0)
  for (const _ of [1, 2]) {
    let text = ''
    const write = (more: string) => {
      text += more
    }
    const leave = await hub.listen({ begin: () => true, write, writableLength: 0, end() {}, destroy() {} }, async () => true)
    expect(text).toBe('retry: 3000\nevent: reset\ndata:\n\n')
    hub.publish(['run', 'alarm'])
    expect(text).toMatch(/event: run\ndata:\n\nevent: alarm\ndata:\n\n$/)
    expect(reads).toBeGreaterThan(0)
    leave?.()
    await lookOn()
    reads = 0
    await lookOn()
    expect(reads).toBe(0)
  }
})
