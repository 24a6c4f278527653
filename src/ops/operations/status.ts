import { z } from 'zod'
import { MAX_API_CHANGES } from '../../store/upkeep/api-changes.ts'
import { listProcesses } from '../../store/upkeep/processes.ts'
import { record, time } from '../output/schema.ts'
import { apiChange, apiChanges } from '../status/api-changes.ts'
import { coverage as coverageSchema, coverageText, readCoverage } from '../status/coverage.ts'
import { readStatus, status as statusSchema } from '../status/status.ts'
import { statusText } from '../status/status-text.ts'
import { pageOf, whole } from './inputs.ts'
import { operation } from './operation.ts'
import { overview as overviewSchema, readOverview } from './overview.ts'

const nothing = z.strictObject({})

const status = operation({
  name: 'status',
  summary: 'show whether the mirror is complete and fresh, open issues, and totals',
  description:
    'Covers accounts, reads, freshness, inbox, change log and destinations. The terminal counts everything but lost webhooks now; over HTTP, totals of a large ' +
    'mirror are counted once a minute.',
  role: 'viewer',
  http: 'GET /status',
  input: nothing,
  output: statusSchema,
  run: (c) => readStatus(c.sums, c),
  print: (to, output) => to.text(statusText(output, to.now, to.width)),
})

const overview = operation({
  name: 'status.overview',
  summary: 'show whether the mirror is complete and fresh, and open issues with the request that fixes each',
  description: 'Cheap enough to request every few seconds. `sentence` is the first line of `status`.',
  role: 'viewer',
  http: 'GET /overview',
  tool: 'overview',
  withoutCommand: '`status` shows the same and more',
  // Concurrent requests share one answer, because every open console page polls this operation.
  isShared: true,
  input: nothing,
  output: overviewSchema,
  run: (c) => readOverview(c.db, c.config, c.showFix),
})

const coverage = operation({
  name: 'status.coverage',
  summary: 'show what each read mirrors and how fresh it is, and what cannot be discovered',
  role: 'viewer',
  http: 'GET /coverage',
  command: 'status --coverage',
  input: nothing,
  output: coverageSchema,
  run: (c) => readCoverage(c.sums.read, c.config, c.isTerminal),
  print: (to, output) => to.text(coverageText(output, to.now, to.width)),
})

const apiChangesOperation = operation({
  name: 'status.api-changes',
  summary: 'list API changes: unknown fields, values and types, and missing required fields',
  description: 'Shows location, type and count, never a value; newest first. At most 1,000 per account.',
  role: 'viewer',
  http: 'GET /api-changes',
  command: 'status --api-changes',
  input: nothing,
  output: pageOf(apiChange).extend({
    full: z.array(z.string()).describe('accounts at the limit, for which no new changes are recorded'),
  }),
  run: async (c) => {
    const { items, full } = await apiChanges(c.db.read)
    return { ...whole(items), full }
  },
  print: (to, { items, full }) => {
    to.rows(
      'API changes',
      items,
      ['account', 'resource', 'kind', 'type', 'answers', 'first_seen_at', 'last_seen_at', 'path'],
      'No API changes: every answer matches the specification.',
    )
    for (const account of full) to.sentence(`Account ${account} has ${MAX_API_CHANGES} API changes, the limit. No new ones are recorded.`)
  },
})

const running = record('Process', {
  process_id: z.string(),
  role: z.string().describe('`all`, `receive` or `work` (`serve`); `sync`, `reconcile` or `verify` (commands)'),
  version: z.string(),
  started_at: time,
  seen_at: time.describe('last heartbeat; a process without one for 20 s counts as dead'),
  is_this: z.boolean().describe('whether this process answers the request'),
})

const processes = operation({
  name: 'status.processes',
  summary: 'list running processes of this database, oldest first',
  role: 'viewer',
  http: 'GET /processes',
  withoutCommand: '`status` lists them',
  input: nothing,
  output: pageOf(running),
  run: async (c) => {
    const alive = await listProcesses(c.db.read)
    return whole(alive.map((each) => ({ ...each, is_this: each.process_id === c.db.processId })))
  },
})

/** Operations of the command `status [--coverage|--api-changes]`, and of routes about the state of the mirror. */
export const operations = [status, overview, coverage, apiChangesOperation, processes]
