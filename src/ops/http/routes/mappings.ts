import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { UsageError } from '../../../base/errors.ts'
import { SAVE_AS_UTF8, utf8Text } from '../../../base/utf8.ts'
import { readMapFile } from '../../actions/map-file.ts'
import { importMappings, mapTarget } from '../../actions/mappings.ts'
import { name } from '../../operations/inputs.ts'
import { map } from '../../operations/mapping.ts'
import { answersOfAction } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'

import { DOCUMENT_LIMIT_BYTES } from '../from-operation.ts'

const schema = {
  summary: `${map.summary}: all rows of a CSV`,
  ...(map.description !== undefined && { description: map.description }),
  tags: ['destination'],
  params: z.strictObject({ name }),
  consumes: ['text/csv'],
  body: z.string(),
  response: answersOfAction('how many were stored', map.output),
}

/** `/destinations/{name}/mappings.csv` */
export function addMappingsCsv(api: Api, p: AdminParts): void {
  // A scope of its own: only here a CSV is read, and nothing else.
  void api.register((scope: Api, _options, done) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('text/csv', { parseAs: 'buffer' }, async (_request: FastifyRequest, bytes: Buffer) => textOf(bytes))
    scope.post(
      '/destinations/:name/mappings.csv',
      { schema, bodyLimit: DOCUMENT_LIMIT_BYTES, config: { role: 'operator' } },
      async (request) => {
        const target = mapTarget(p.config(), request.params.name)
        return await importMappings(actionContextFor(p, request), target, readMapFile(request.body, 'the CSV', target))
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
