import type { IncomingMessage, ServerResponse } from 'node:http'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { isObject } from '../../model/json.ts'
import type { McpParts } from './parts.ts'
import { createMcpServer } from './server.ts'

/** Value of the `Accept` header that the SDK requires. */
const ANSWERS = 'application/json, text/event-stream'

/** Answers one request of the streamable HTTP transport, without an MCP session. @param body parsed JSON. */
export async function answerMcpRequest(p: McpParts, request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
  setAccept(request)
  const server = await createMcpServer(p)
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  response.once('close', () => void server.close())
  await server.connect(transport as Parameters<typeof server.connect>[0])
  await transport.handleRequest(request, response, Array.isArray(body) ? body.map(withArguments) : withArguments(body))
}

/** Sets the `Accept` header that the SDK requires, if the client accepts any type or sent no `Accept` header. */
function setAccept(request: IncomingMessage): void {
  const { accept } = request.headers
  if (accept !== undefined && !accept.includes('*/*')) return
  request.headers.accept = ANSWERS
  const kept = request.rawHeaders.flatMap((name, at, all) =>
    at % 2 === 0 && name.toLowerCase() !== 'accept' ? [name, all[at + 1] ?? ''] : [],
  )
  request.rawHeaders.splice(0, request.rawHeaders.length, ...kept, 'accept', ANSWERS)
}

/** Replaces `arguments: null` with an empty object. Some clients send null. */
function withArguments(message: unknown): unknown {
  if (!isObject(message) || !isObject(message['params']) || message['params']['arguments'] !== null) return message
  return { ...message, params: { ...message['params'], arguments: {} } }
}
