import { z } from 'zod'
import { asyncApi } from '../../push/contract/asyncapi.ts'
import type { AnyOperation } from '../operations/operation.ts'
import { answers } from './api/answers.ts'
import type { AdminParts, Api } from './api/parts.ts'
import type { Sessions } from './api/sessions.ts'
import { addCsv } from './csv.ts'
import { addOperation } from './from-operation.ts'
import { addDocuments } from './routes/documents.ts'
import { addExport } from './routes/export.ts'
import { addMappingsCsv } from './routes/mappings.ts'
import { addReport } from './routes/report.ts'
import { addSession } from './routes/session.ts'
import { addOidcSession } from './routes/session-oidc.ts'

const openapi = z.looseObject({ openapi: z.string() })
const asyncapi = z.looseObject({ asyncapi: z.string() })

const pushes = {
  summary: 'pushes to destinations, as AsyncAPI 3 with JSON Schemas',
  tags: ['description'],
  response: answers('an AsyncAPI document', asyncapi),
}

const self = {
  summary: 'this description, as OpenAPI',
  tags: ['description'],
  response: answers('an OpenAPI document', openapi),
}

export function addRoutes(api: Api, p: AdminParts, sessions: Sessions, operations: readonly AnyOperation[]): void {
  api.get('/openapi.json', { schema: self, config: { role: 'viewer' } }, () => openapi.parse(api.swagger()))
  api.get('/asyncapi.json', { schema: pushes, config: { role: 'viewer' } }, () => asyncapi.parse(asyncApi(p.version)))
  addSession(api, p, sessions)
  addOidcSession(api, p, sessions)
  for (const op of operations) addOperation(api, p, op)
  for (const op of operations.filter(({ hasCsv }) => hasCsv)) addCsv(api, p, op)
  for (const add of [addMappingsCsv, addReport, addDocuments, addExport]) add(api, p)
}
