import { once } from 'node:events'
import { type Readable, Writable } from 'node:stream'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import type { Output } from '../../base/host.ts'
import type { McpParts } from './parts.ts'
import { createMcpServer } from './server.ts'

const MAX_REQUEST_BYTES = 1 << 20

/** Answers an assistant over standard input and output until the input ends or the process stops. */
export async function answerOverStdio(p: McpParts, input: Readable, output: Output): Promise<void> {
  const writable = new Writable({
    write(piece, _encoding, done) {
      output.write(piece)
      done()
    },
  })
  const server = await createMcpServer(p)
  const ended = Promise.race([once(input, 'end'), once(input, 'close'), once(p.signal, 'abort')])
  if (p.signal.aborted) return
  await server.connect(new StdioServerTransport(input, writable, { maxBufferSize: MAX_REQUEST_BYTES }))
  server.server.onerror = (error) => p.log.warn({ err: error }, `a request of the assistant is unreadable: ${error.message}`)
  await ended
  await server.close()
}
