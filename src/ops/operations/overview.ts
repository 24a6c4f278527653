import { z } from 'zod'
import type { Db } from '../../store/engine/db.ts'
import { PartReader } from '../../store/engine/part-reader.ts'
import type { ShowFix } from '../health/fix.ts'
import { servedAccounts } from '../health/from-health.ts'
import { issueOf } from '../health/problem.ts'
import { verdictWords } from '../health/verdict.ts'
import { sentenceOf, totalOf } from '../health/verdict-text.ts'
import { record, time } from '../output/schema.ts'
import { issue, judgeNow, unreadParts, type VerdictConfig } from '../status/status.ts'
import { sumsForVerdict } from '../status/sums.ts'

const pile = z.object({ count: z.int().describe('counted up to a limit'), oldest_at: time.nullable() })

const fix = z.object({
  operation: z.string().optional().describe('operation that fixes it or shows the decision to make, called with `input`'),
  input: z.record(z.string(), z.string()).readonly().optional(),
  command: z.string().optional().describe('command to run'),
  tool: z.string().optional().describe('tool for assistants, called with `input`'),
  runbook: z.string().optional().describe('section of the runbook'),
  method: z.enum(['POST', 'PUT', 'DELETE']).optional().describe('with `path` and `body`: the request that fixes it, if any'),
  path: z.string().optional(),
  body: z.record(z.string(), z.string()).readonly().nullable().optional(),
})

export const overview = record('Overview', {
  verdict: z.enum(verdictWords),
  sentence: z.string().describe('verdict and reasons'),
  since: time.nullable().describe('when the verdict began; null if complete or unknown'),
  issues: z.array(
    issue.extend({
      account: z.string().nullable(),
      destination: z.string().nullable(),
      run_id: z.string().nullable().describe('reconcile run'),
      fix,
    }),
  ),
  unread: unreadParts,
  late: z
    .array(z.object({ kind: z.string(), of: z.string().nullable(), count: z.int().nullable(), since: time.nullable() }))
    .readonly()
    .describe('data that is older than it should be and needs no action'),
  served: z.boolean().describe('whether a process serves this database'),
  submissions: z
    .object({ known: z.int().nullable(), unreachable: z.int().nullable(), never_read: z.int() })
    .describe('large mirrors count `known` and `unreachable` once a minute; null: not yet'),
  counted_at: time.nullable().describe('when submissions were counted; null: just now, or not yet'),
  inbox: pile.describe('deliveries waiting to be applied'),
  accounts: z.array(
    z.object({
      account: z.string(),
      state: z.string(),
      submissions: z.int().nullable().describe('null if not counted yet'),
      dead: pile,
      newest_read_at: time.nullable(),
      stalest_read_at: time.nullable(),
      oldest_read_request_at: time.nullable(),
    }),
  ),
  destinations: z.array(
    z.object({
      destination: z.string(),
      state: z.string(),
      oldest_unsent_at: time.nullable(),
      dead: pile,
      unknown: pile,
      held: pile,
      unmapped: pile,
    }),
  ),
})

export type Overview = z.input<typeof overview>

/** Reads the overview from the database only. The function is fast enough to be called every few seconds. */
export async function readOverview(db: Db, config: VerdictConfig, showFix: ShowFix): Promise<Overview> {
  const parts = new PartReader(db.clock)
  const totals = await parts.read('kept counts', () => sumsForVerdict(db.readNoWait), null)
  const { health, expected, judgement, countedAt } = await judgeNow(db, config, totals, parts)
  const accounts = servedAccounts(health, expected)
  return {
    verdict: judgement.verdict,
    sentence: sentenceOf(judgement, health, expected),
    since: judgement.since,
    issues: await Promise.all(
      judgement.problems.map(async (each) => {
        const { fix, ...issue } = issueOf(each)
        const { account, destination, runId: run_id = null } = each
        return { ...issue, account: account || null, destination: destination || null, run_id, fix: await showFix(fix) }
      }),
    ),
    unread: health.unread,
    late: judgement.late,
    served: health.isServed,
    inbox: health.inbox,
    submissions: {
      known: totalOf(accounts.map(({ submissions }) => submissions)),
      unreachable: totalOf(accounts.map(({ unreachable }) => unreachable)),
      never_read: accounts.reduce((sum, { never_read }) => sum + never_read, 0),
    },
    counted_at: countedAt,
    accounts: [...health.accounts],
    destinations: [...health.destinations],
  }
}
