import { applicationAnswers } from './entities/application-answers.ts'
import { applicationWorkspaces } from './entities/application-workspaces.ts'
import { applications } from './entities/applications.ts'
import { bindAssumptions } from './entities/bind-assumptions.ts'
import { bindContingencies } from './entities/bind-contingencies.ts'
import { bindRequests } from './entities/bind-requests.ts'
import { carrierApiSessions } from './entities/carrier-api-sessions.ts'
import { documents } from './entities/documents.ts'
import { documentsOnFile } from './entities/documents-on-file.ts'
import { facts } from './entities/facts.ts'
import { insureds } from './entities/insureds.ts'
import { lanes } from './entities/lanes.ts'
import { marketEvents } from './entities/market-events.ts'
import { marketReadiness } from './entities/market-readiness.ts'
import { outstandingItems } from './entities/outstanding-items.ts'
import { policies } from './entities/policies.ts'
import { programAssessments } from './entities/program-assessments.ts'
import { quoteHistory } from './entities/quote-history.ts'
import { quotes } from './entities/quotes.ts'
import { requirementItems } from './entities/requirement-items.ts'
import { sourceOffers } from './entities/source-offers.ts'
import { submissions } from './entities/submissions.ts'
import { threadAttachments } from './entities/thread-attachments.ts'
import { threadMessages } from './entities/thread-messages.ts'
import { columnsWhere, type Entity, type Field } from './entity.ts'
import { type Feed, isFeed } from './reads.ts'

/** All public tables of service data. `apply` locks and writes them in this order. */
export const entities = [
  submissions,
  marketEvents,
  threadMessages,
  threadAttachments,
  lanes,
  quotes,
  sourceOffers,
  quoteHistory,
  marketReadiness,
  carrierApiSessions,
  documentsOnFile,
  programAssessments,
  requirementItems,
  outstandingItems,
  applicationWorkspaces,
  applications,
  applicationAnswers,
  facts,
  bindRequests,
  bindAssumptions,
  bindContingencies,
  policies,
  insureds,
  documents,
] as const satisfies readonly Entity[]

/** Names of all columns of kind `raw`, in any table. */
export const rawNames: ReadonlySet<string> = new Set(entities.flatMap((entity) => columnsWhere(entity, ({ kind }) => kind === 'raw')))

export function entityNamed(table: string): Entity | null {
  return entities.find((entity) => entity.table === table) ?? null
}

/** @returns the descriptor of a column; null if the table or column is unknown. */
export function fieldOf(table: string, column: string): Field | null {
  return entityNamed(table)?.fields[column] ?? null
}

/** @returns the feed that a table's rows come from; null for tables of state reads and for unknown tables. */
export function feedOf(table: string): Feed | null {
  const read = entityNamed(table)?.read
  return read !== undefined && read !== 'document' && isFeed(read) ? read : null
}
