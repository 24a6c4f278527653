import { authenticationOperations } from './authentication.ts'
import { documentOperations } from './documents.ts'
import { marketOperations, recordOperations } from './markets.ts'
import type { Endpoint, Operation } from './operation.ts'
import { bindingOperations, workspaceOperations } from './placing.ts'
import { submissionOperations } from './submissions.ts'

/** Every endpoint of the specification's tables. */
export const operations: readonly Operation[] = [
  ...tagged('authentication', authenticationOperations),
  ...tagged('submissions', submissionOperations),
  ...tagged('documents', documentOperations),
  ...tagged('workspace', workspaceOperations),
  ...tagged('binding', bindingOperations),
  ...tagged('markets', marketOperations),
  ...tagged('records', recordOperations),
]

function tagged(tag: string, endpoints: readonly Endpoint[]): Operation[] {
  return endpoints.map((endpoint) => ({ ...endpoint, tag }))
}

/** What the specification names without showing its path, body or answer. */
export const namedOnly = [
  'Submission detail read',
  'Markets read of a submission',
  'Withdraw',
  'Request-quote and employers-classes for an application session',
  'Program application-schema read',
  'Bind submission',
  'Policies list',
  'Insureds list',
  'Market-access read',
  'Webhook endpoint management',
] as const
