import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { allOperations } from '../operations/index.ts'
import { actingTools } from './acting.ts'
import { answer, answerOf, NOTE, refusalOf } from './answers.ts'
import { toolOf } from './from-operation.ts'
import type { McpParts, Tool } from './parts.ts'
import { readingTools } from './reading.ts'

const INSTRUCTIONS =
  "This server answers from a mirror of a brokerage's commercial insurance submissions. Find a submission with search_submissions first; the " +
  `other tools take its account and submission_id. ${NOTE}`

/** Elements that the arguments of one call may have. */
const MOST_ELEMENTS = 500

/** A server of the Model Context Protocol with the tools that its caller may use. It is not connected yet. */
export async function createMcpServer(p: McpParts): Promise<McpServer> {
  const server = new McpServer(
    { name: 'submission-mirror', title: 'submission-mirror', version: p.version },
    { instructions: INSTRUCTIONS, capabilities: { tools: {} }, maxToolInputElements: MOST_ELEMENTS },
  )
  const offered = (await allOperations()).flatMap((op) => (op.tool === undefined ? [] : [toolOf({ ...op, tool: op.tool })]))
  const all = [...readingTools, ...actingTools, ...offered]
  for (const each of all.filter(({ isReading }) => isReading)) add(server, p, each)
  if (p.mayAct) for (const each of all.filter(({ isReading }) => !isReading)) add(server, p, each)
  return server
}

function add(server: McpServer, p: McpParts, { name, title, description, isReading, input, run }: Tool): void {
  const annotations = { readOnlyHint: isReading, destructiveHint: false, openWorldHint: false }
  server.registerTool(name, { title, description, inputSchema: input, outputSchema: answer, annotations }, async (given) => {
    try {
      return answerOf(await run(p, given as never))
    } catch (error) {
      return refusalOf(p, name, error)
    }
  })
}
