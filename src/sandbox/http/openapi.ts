import type { FastifyInstance } from 'fastify'

/** Serves the OpenAPI document of the service to everybody. It is made with the first request: most sandboxes are never asked for it. */
export function registerOpenApi(app: FastifyInstance): void {
  let document: Promise<string> | undefined
  app.get('/openapi.json', async (_request, reply) => {
    document ??= makeDocument()
    return reply.type('application/json').send(await document)
  })
}

async function makeDocument(): Promise<string> {
  const { openApiDocument } = await import('../../client/openapi/document.ts')
  return JSON.stringify(openApiDocument())
}
