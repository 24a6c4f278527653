import { once } from 'node:events'
import { type AddressInfo, connect, createServer, Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { dial } from '../../../src/push/file/dial.ts'

const SILENT = ['127.0.0.2', '127.0.0.3']
const ANSWERS = '127.0.0.1'

it('goes on to the next address of a host when one says nothing at all', async () => {
  const server = createServer((socket) => socket.end()).listen(0, ANSWERS)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const tried: string[] = []
  const network = {
    lookup: async () => [...SILENT, ANSWERS].map((address) => ({ address })),
    connect(options: { readonly host: string; readonly port: number }) {
      tried.push(options.host)
      return SILENT.includes(options.host) ? new Socket() : connect(options)
    },
  }
  const reach = dial({ allowHosts: null, allowPrivate: true, timeoutMs: 400 }, network)
  const socket = await reach('sftp.agency.example', port, new AbortController().signal)
  onTestFinished(() => void socket.destroy())
  expect(socket.remoteAddress).toBe(ANSWERS)
  expect(tried).toEqual([...SILENT, ANSWERS])
})
