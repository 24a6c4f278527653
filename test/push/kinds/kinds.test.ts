import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { createKind } from '../../../src/push/kinds/create.ts'
import { silentLog as log } from '../../tools/databases.ts'
import { destinationTo, itemOf } from '../http/support.ts'
import { webhookTo } from '../rig.ts'

it.each(['http', 'webhook'])('a kind that is closed keeps no connection: %s', async (kind) => {
  // Otherwise it would end on its own after some seconds.
  const server = createServer({ keepAliveTimeout: 600_000 }, (_, response) => response.end('{}')).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  const opened = once(server, 'connection') as Promise<[Socket]>
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const destination = kind === 'http' ? destinationTo(url, { idempotent: true }) : webhookTo(url)
  const made = createKind(destination, { clock: systemClock, log, proxy: {} })
  const [outcome] = await made.send([itemOf()], new AbortController().signal)
  expect(outcome?.type).toBe('delivered')
  const [socket] = await opened
  const closed = once(socket, 'close')
  await made.close()
  await closed
})
