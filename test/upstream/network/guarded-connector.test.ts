import { lookup } from 'node:dns'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { guardedConnector, type LookupAll, refusedAddress } from '../../../src/upstream/network/guarded-connector.ts'
import { selfSigned } from '../../push/certificate.ts'
import { listening } from '../../tools/servers.ts'

const connect = guardedConnector(true, 5_000, lookup as LookupAll)

async function portOf(server: Server): Promise<string> {
  onTestFinished(() => void server.close())
  return String(await listening(server))
}

function connected(protocol: string, hostname: string, port: string): Promise<Socket | Error> {
  return new Promise((resolve) => connect({ protocol, hostname, port }, (error, socket) => resolve(error ?? socket)))
}

test("connects to an address from the system's resolver", async () => {
  const socket = await connected('http:', 'localhost', await portOf(createServer()))
  expect(socket).toMatchObject({ remoteAddress: '127.0.0.1' })
  if (!(socket instanceof Error)) socket.destroy()
})

test('only HTTP/1.1 is offered', async () => {
  const offered: string[][] = []
  const ALPNCallback = ({ protocols }: { readonly protocols: string[] }) => {
    offered.push(protocols)
    return protocols[0]
  }
  expect(await connected('https:', '127.0.0.1', await portOf(createTlsServer({ ...selfSigned, ALPNCallback })))).toBeInstanceOf(Error)
  expect(offered).toEqual([['http/1.1']])
})

test('the error for a refused address contains its name and the remedy', () => {
  expect(refusedAddress('10.0.0.1', '10.0.0.1')).toMatch(
    /^10\.0\.0\.1 is a loopback, private .*which is blocked unless allow_private is set$/,
  )
  expect(refusedAddress('localhost', 'localhost')).toMatch(
    /^localhost is a loopback, private .*which is blocked unless allow_private is set$/,
  )
  expect(refusedAddress('ams.example', '10.0.0.1')).toMatch(/^ams\.example resolves to 10\.0\.0\.1, which is a loopback/)
  expect(refusedAddress('ams.example', '0.0.0.0')).toMatch(/^ams\.example resolves to 0\.0\.0\.0, which is .* for every destination$/)
})
