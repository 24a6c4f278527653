import { z } from 'zod'
import type { AnyOperation } from '../operations/operation.ts'
import { answers } from './api/answers.ts'
import type { AdminParts, Api } from './api/parts.ts'
import type { Sessions } from './api/sessions.ts'
import { addOperation } from './from-operation.ts'
import { addActions } from './routes/actions.ts'
import { addAlarms } from './routes/alarms.ts'
import { addBackup } from './routes/backup.ts'
import { addCompleteness } from './routes/completeness.ts'
import { addDestinations } from './routes/destinations.ts'
import { addDoctor } from './routes/doctor.ts'
import { addDocuments } from './routes/documents.ts'
import { addFound } from './routes/found.ts'
import { addHistory } from './routes/history.ts'
import { addInbox } from './routes/inbox.ts'
import { addInterfaceDrift } from './routes/interface-drift.ts'
import { addLive } from './routes/live.ts'
import { addMappings } from './routes/mappings.ts'
import { addOverview } from './routes/overview.ts'
import { addProcesses } from './routes/processes.ts'
import { addPurge } from './routes/purge.ts'
import { addReconcile } from './routes/reconcile.ts'
import { addRejected } from './routes/rejected.ts'
import { addReload } from './routes/reload.ts'
import { addRetention } from './routes/retention.ts'
import { addRows } from './routes/rows.ts'
import { addSearch } from './routes/search.ts'
import { addSession } from './routes/session.ts'
import { addOidcSession } from './routes/session-oidc.ts'
import { addSettings } from './routes/settings.ts'
import { addStatus } from './routes/status.ts'
import { addSubmissionViews } from './routes/submission-views.ts'
import { addSubmissions } from './routes/submissions.ts'

const openapi = z.looseObject({ openapi: z.string() })

const self = {
  summary: 'this description, as OpenAPI',
  tags: ['description'],
  response: answers('an OpenAPI document', openapi),
}

/** Adds every route. @param operations whose routes are made of them. */
export function addRoutes(api: Api, p: AdminParts, sessions: Sessions, operations: readonly AnyOperation[]): void {
  api.get('/openapi.json', { schema: self }, () => openapi.parse(api.swagger()))
  addSession(api, p, sessions)
  addOidcSession(api, p, sessions)
  addLive(api, p, sessions)
  addStatus(api, { ...p, db: p.sums })
  addCompleteness(api, { ...p, db: p.sums })
  for (const add of [addOverview, addHistory, addSubmissions, addInbox, addRejected, addDestinations, addMappings]) add(api, p)
  for (const op of operations) addOperation(api, p, op)
  for (const add of [
    addReconcile,
    addAlarms,
    addDoctor,
    addDocuments,
    addBackup,
    addPurge,
    addRetention,
    addReload,
    addSettings,
    addProcesses,
    addInterfaceDrift,
    addFound,
    addActions,
    addSubmissionViews,
    addRows,
    addSearch,
  ])
    add(api, p)
}
