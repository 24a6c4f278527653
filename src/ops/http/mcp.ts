import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { includesRole } from '../../config/schema/roles.ts'
import { type AdminParts, actionContextFor } from './api/parts.ts'
import { refuse } from './api/refusing.ts'
import { leavingOf } from './from-operation.ts'

export const MCP_ROUTE = '/mcp'

/**
 * Adds `POST /mcp`: the Model Context Protocol for assistants (streamable HTTP, stateless).
 * Imports the MCP code at the first request.
 */
export function addMcp(app: FastifyInstance, p: AdminParts): void {
  app.post(MCP_ROUTE, { schema: { hide: true } as object, config: { role: 'viewer' } }, async (request, reply) => {
    const { answerMcpRequest } = await import('../mcp/http.ts')
    // Fastify does not send this answer, so copy the headers that Fastify's hooks have set.
    for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) reply.raw.setHeader(name, value)
    reply.hijack()
    await answerMcpRequest({ ...partsFor(p, request), left: leavingOf(reply) }, request.raw, reply.raw, request.body)
  })
  const refused = (_request: FastifyRequest, reply: FastifyReply) =>
    refuse(reply.header('allow', 'POST'), 405, ['use POST; this server has no MCP sessions'])
  for (const method of ['GET', 'DELETE'] as const)
    app.route({ method, url: MCP_ROUTE, schema: { hide: true } as object, config: { role: 'viewer' }, handler: refused })
}

function partsFor(p: AdminParts, request: FastifyRequest) {
  const { mcpActions } = p.config().ops
  const mayAct = mcpActions && request.holder !== null && includesRole(request.holder.role, 'operator')
  const { isStillAllowed } = request
  return { ...actionContextFor(p, request), config: p.config, log: p.log, version: p.version, mayAct, isStillAllowed }
}
