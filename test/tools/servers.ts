import { once } from 'node:events'
import type { Server as HttpServer, RequestListener } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

export async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Ends an HTTP server with its connections, or stops another server from accepting new ones. */
export async function closed(server: Server): Promise<void> {
  if (!server.listening) return
  const end = once(server, 'close')
  server.close()
  if (!('closeAllConnections' in server)) return
  ;(server as HttpServer).closeAllConnections()
  await end
}

export function whole(handle: (...parts: [...Parameters<RequestListener>, body: string]) => void): RequestListener {
  return (request, response) => {
    text(request).then(
      (body) => handle(request, response, body),
      () => undefined,
    )
  }
}

/** Awaits a resource, and closes it at the end of the test. */
export async function closedAtEnd<T extends { close(): unknown }>(opening: Promise<T>): Promise<T> {
  const opened = await opening
  onTestFinished(async () => void (await opened.close()))
  return opened
}
