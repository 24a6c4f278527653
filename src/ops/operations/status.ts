import { z } from 'zod'
import { MOST_DRIFT } from '../../store/upkeep/interface-drift.ts'
import { listProcesses } from '../../store/upkeep/processes.ts'
import { record, time } from '../output/schema.ts'
import { driftItem, interfaceDrift } from '../status/interface-drift.ts'
import { readStatus, status as statusSchema } from '../status/status.ts'
import { statusText } from '../status/status-text.ts'
import { coverage as coverageSchema, coverageText, readCoverage } from './coverage.ts'
import { pageOf, whole } from './inputs.ts'
import { operation } from './operation.ts'
import { overview as overviewSchema, readOverview } from './overview.ts'

const nothing = z.strictObject({})

const status = operation({
  name: 'status',
  summary: 'say whether the mirror is complete and fresh, what needs a person, and how it is in numbers',
  description:
    'Accounts, reads, freshness, inbox, change log, destinations. The terminal counts everything anew, which takes a moment where there is much; else what sums up a large mirror is counted once a minute.',
  role: 'viewer',
  http: 'GET /status',
  input: nothing,
  output: statusSchema,
  run: (c) => readStatus(c.sums, c),
  print: (to, output) => to.text(statusText(output, to.now, to.width)),
})

const overview = operation({
  name: 'status.overview',
  summary: 'say whether the mirror is complete and fresh, and what needs a person, with the request that mends it',
  description: 'The sentence is the one that `status` prints first. Cheap enough to be asked every few seconds.',
  role: 'viewer',
  http: 'GET /overview',
  tool: 'overview',
  withoutCommand: '`status` says the same, and more',
  // Many people look at it, and each page asks for it.
  isShared: true,
  input: nothing,
  output: overviewSchema,
  run: (c) => readOverview(c.db, c.config, c.showMend),
})

const coverage = operation({
  name: 'status.coverage',
  summary: 'say what is mirrored and how fresh, read by read, and what the service gives no way to find',
  role: 'viewer',
  http: 'GET /coverage',
  command: 'status --coverage',
  input: nothing,
  output: coverageSchema,
  run: (c) => readCoverage(c.sums.read, c.config, c.isTerminal),
  print: (to, output) => to.text(coverageText(output, to.now, to.width)),
})

const drift = operation({
  name: 'status.drift',
  summary: 'list fields, values and types that the specification does not name, and required fields that are missing',
  description: 'Where, of which type and how often, never a value; those first seen lately first. At most 1,000 an account.',
  role: 'viewer',
  http: 'GET /interface-drift',
  command: 'status --drift',
  input: nothing,
  output: pageOf(driftItem).extend({
    full: z.array(z.string()).describe('accounts with so many that nothing new is recorded'),
  }),
  run: async (c) => {
    const { items, full } = await interfaceDrift(c.db.read)
    return { ...whole(items), full }
  },
  print: (to, { items, full }) => {
    to.rows(
      'Where the service differs from its specification',
      items,
      ['account', 'resource', 'kind', 'type', 'answers', 'first_seen_at', 'last_seen_at', 'path'],
      'Every answer is as the specification names it.',
    )
    for (const account of full) to.sentence(`Account ${account} has ${MOST_DRIFT} of them, so nothing new is recorded for it.`)
  },
})

const running = record('Process', {
  process_id: z.string(),
  role: z
    .string()
    .describe(
      '`all`, `receive`, `work` of `serve`; `sync`, `reconcile`: a command that reads from the service; `verify`: a verification of a destination',
    ),
  version: z.string(),
  started_at: time,
  seen_at: time.describe('its last sign of life; one that gives none for 20 s is taken for dead'),
  is_this: z.boolean().describe('it is the one that answers'),
})

const processes = operation({
  name: 'status.processes',
  summary: 'list the processes that work on the database now, the oldest first',
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

/** `status [--coverage|--drift]` */
export const operations = [status, overview, coverage, drift, processes]
