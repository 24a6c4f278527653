import type { FastifyInstance } from 'fastify'
import type { Unshown } from '../service/unshown.ts'

/** Serves the OpenAPI document of the service, with the statuses of this sandbox, to everybody. It is made with the first request: most sandboxes are never asked for it. */
export function registerOpenApi(app: FastifyInstance, unshown: Unshown): void {
  let document: Promise<string> | undefined
  app.get('/openapi.json', async (_request, reply) => {
    document ??= makeDocument(unshown)
    return reply.type('application/json').send(await document)
  })
}

async function makeDocument(unshown: Unshown): Promise<string> {
  const { openApiDocument } = await import('../../client/openapi/document.ts')
  return JSON.stringify(openApiDocument((name) => unshown.status(name)))
}
