import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { UsageError } from '../../../base/errors.ts'
import { SAVE_AS_UTF8, utf8Text } from '../../../base/utf8.ts'
import { name } from '../../operations/inputs.ts'
import { map } from '../../operations/mapping.ts'
import { answersOfAction } from '../api/answers.ts'
import type { AdminParts, Api } from '../api/parts.ts'
import { contextOf, DOCUMENT_LIMIT_BYTES } from '../from-operation.ts'

const schema = {
  summary: `${map.summary}: from a CSV`,
  ...(map.description !== undefined && { description: map.description }),
  tags: ['destination'],
  params: z.strictObject({ name }),
  consumes: ['text/csv'],
  body: z.string(),
  response: answersOfAction('number of stored mappings', map.output),
}

/** Adds `POST /destinations/{name}/mappings.csv`. */
export function addMappingsCsv(api: Api, p: AdminParts): void {
  // Use a separate scope, because only this route accepts CSV.
  void api.register((scope: Api, _options, done) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('text/csv', { parseAs: 'buffer' }, async (_request: FastifyRequest, bytes: Buffer) => textOf(bytes))
    scope.post(
      '/destinations/:name/mappings.csv',
      { schema, bodyLimit: DOCUMENT_LIMIT_BYTES, config: { role: 'operator' } },
      async (request) => {
        const context = { ...contextOf(p, request), nameOf: () => 'the CSV' }
        return await map.run(context, { name: request.params.name, file: request.body })
      },
    )
    done()
  })
}

function textOf(bytes: Buffer): string {
  const text = utf8Text(bytes)
  if (text === null) throw new UsageError([`the CSV ${SAVE_AS_UTF8}`, 'nothing was stored'])
  return text
}
