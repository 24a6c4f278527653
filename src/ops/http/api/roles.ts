import type { Role } from '../../../config/schema/roles.ts'

/** Where assistants ask. What its tools may do is looked at there. */
export const MCP_ROUTE = '/mcp'

/** Reads that show bodies, headers, or personal values as they are. */
const PERSONAL_READS: ReadonlySet<string> = new Set([
  '/api/v1/documents/:key',
  '/api/v1/reconcile-runs/:id/report.html',
  '/api/v1/rows/:table/:key',
])

/**
 * The least role that a route takes. Whoever signed in may sign out. A route of an operation says it itself; another that is not named here takes `viewer` to read and `operator` to change something.
 * @param url the route as it is described, with `:name` for its parameters.
 */
export function roleNeeded(method: string, url: string): Role {
  if (url === '/api/v1/session' || url === MCP_ROUTE) return 'viewer'
  if (method === 'GET' || method === 'HEAD') return PERSONAL_READS.has(url) ? 'operator' : 'viewer'
  return 'operator'
}
