import { once } from 'node:events'
import { type AddressInfo, connect, createServer, Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { dial } from '../../../src/push/file/dial.ts'

const SILENT = ['127.0.0.2', '127.0.0.3']
const ANSWERS = '127.0.0.1'

it('continues with the next address of a host if one does not answer', async () => {
  const server = createServer((socket) => socket.end()).listen(0, ANSWERS)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const tried: string[] = []
  const silent: Socket[] = []
  const network = {
    lookup: async () => [...SILENT, ANSWERS].map((address) => ({ address })),
    connect(options: { readonly host: string; readonly port: number }) {
      tried.push(options.host)
      if (!SILENT.includes(options.host)) return connect(options)
      silent.push(new Socket())
      return silent.at(-1) as Socket
    },
  }
  const reach = dial({ allowHosts: null, allowPrivate: true, timeoutMs: 400 }, network)
  const socket = await reach('sftp.agency.example', port, new AbortController().signal)
  onTestFinished(() => void socket.destroy())
  expect(socket.remoteAddress).toBe(ANSWERS)
  expect(tried).toEqual([...SILENT, ANSWERS])
  expect(silent.map(({ destroyed }) => destroyed)).toEqual([true, true])
})

it('returns a socket that may be reset before it has listeners', async () => {
  const made = new Socket()
  const network = {
    lookup: async () => [{ address: ANSWERS }],
    connect() {
      setImmediate(() => made.emit('connect'))
      return made
    },
  }
  const reach = dial({ allowHosts: null, allowPrivate: true, timeoutMs: 4_000 }, network)
  const socket = await reach('sftp.agency.example', 22, new AbortController().signal)
  const closed = new Promise((resolve) => void socket.once('close', resolve))
  // An error without a listener fails this test.
  socket.destroy(new Error('reset by the server'))
  await closed
})

it('tries no other address, and reports nothing about this one, after a cancellation', async () => {
  const given = new Error('no longer')
  const stop = new AbortController()
  const tried: Socket[] = []
  const network = {
    lookup: async () => SILENT.map((address) => ({ address })),
    connect() {
      tried.push(new Socket())
      stop.abort(given)
      return tried[0] as Socket
    },
  }
  const reach = dial({ allowHosts: null, allowPrivate: true, timeoutMs: 20_000 }, network)
  await expect(reach('sftp.agency.example', 22, stop.signal)).rejects.toBe(given)
  expect(tried.map(({ destroyed }) => destroyed)).toEqual([true])
  const unknown = { ...network, lookup: () => new Promise<never>(() => {}) }
  const stopped = dial({ allowHosts: null, allowPrivate: true, timeoutMs: 20_000 }, unknown)
  await expect(stopped('sftp.agency.example', 22, stop.signal)).rejects.toBe(given)
})
