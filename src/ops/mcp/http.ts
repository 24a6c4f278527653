import type { IncomingMessage, ServerResponse } from 'node:http'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { McpParts } from './parts.ts'
import { createMcpServer } from './server.ts'

/** Answers one request of the streamable HTTP transport, without a session: each request stands for itself. @param body parsed. */
export async function answerMcpRequest(p: McpParts, request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
  const server = createMcpServer(p)
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  response.once('close', () => void server.close())
  await server.connect(transport as Parameters<typeof server.connect>[0])
  await transport.handleRequest(request, response, body)
}
