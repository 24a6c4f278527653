import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { allOperations } from '../operations/index.ts'
import type { AnyOperation } from '../operations/operation.ts'
import { answer, answerOf, NOTE, refusalOf } from './answers.ts'
import { callTool, toolInputOf } from './from-operation.ts'
import type { McpParts } from './parts.ts'

const INSTRUCTIONS =
  "This server mirrors a brokerage's commercial insurance submissions. Find a submission with search_submissions first; the other tools need " +
  `its account and submission_id. ${NOTE}`

/** Maximum number of elements in the arguments of one call. */
const MOST_ELEMENTS = 500

/** @returns an MCP server with the tools that the caller may use. The server is not connected yet. */
export async function createMcpServer(p: McpParts): Promise<McpServer> {
  const server = new McpServer(
    { name: 'submission-mirror', title: 'submission-mirror', version: p.version },
    { instructions: INSTRUCTIONS, capabilities: { tools: {} }, maxToolInputElements: MOST_ELEMENTS },
  )
  for (const op of await allOperations()) if (op.tool !== undefined && (isReading(op) || p.mayAct)) add(server, p, op, op.tool)
  return server
}

function isReading({ http }: AnyOperation): boolean {
  return http.startsWith('GET ')
}

function add(server: McpServer, p: McpParts, op: AnyOperation, name: string): void {
  const described = { title: op.summary, description: op.description ?? op.summary, inputSchema: toolInputOf(op), outputSchema: answer }
  const annotations = { readOnlyHint: isReading(op), destructiveHint: false, openWorldHint: false }
  server.registerTool(name, { ...described, annotations }, async (given) => {
    try {
      return answerOf(await callTool(p, op, given))
    } catch (error) {
      return refusalOf(p, name, error)
    }
  })
}
