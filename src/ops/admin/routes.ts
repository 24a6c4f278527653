import { z } from 'zod'
import { addAccounts } from './accounts.ts'
import { addActions } from './actions.ts'
import { addAlarms } from './alarms.ts'
import { answers } from './answers.ts'
import { addBackup } from './backup.ts'
import { addCompleteness } from './completeness.ts'
import { addDestinations } from './destinations.ts'
import { addDoctor } from './doctor.ts'
import { addInbox } from './inbox.ts'
import { addMappings } from './mappings.ts'
import { addOutbox } from './outbox.ts'
import type { AdminParts, Api } from './parts.ts'
import { addReconcile } from './reconcile.ts'
import { addRejected } from './rejected.ts'
import { addReload } from './reload.ts'
import { addStatus } from './status.ts'
import { addSubmissions } from './submissions.ts'

const openapi = z.looseObject({ openapi: z.string() })

const self = {
  summary: 'this description, as OpenAPI',
  tags: ['description'],
  response: answers('an OpenAPI document', openapi),
}

/** Adds every route. */
export function addRoutes(api: Api, p: AdminParts): void {
  api.get('/openapi.json', { schema: self }, () => openapi.parse(api.swagger()))
  for (const add of [addStatus, addAccounts, addSubmissions, addInbox, addRejected, addOutbox, addDestinations, addMappings]) add(api, p)
  for (const add of [addReconcile, addCompleteness, addAlarms, addDoctor, addBackup, addReload, addActions]) add(api, p)
}
