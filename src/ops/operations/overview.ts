import { z } from 'zod'
import type { Db } from '../../store/engine/db.ts'
import { PartReader } from '../../store/engine/part-reader.ts'
import type { Pile } from '../../store/upkeep/health.ts'
import { servedAccounts } from '../health/matters.ts'
import type { ShowMend } from '../health/mend.ts'
import { verdictWords } from '../health/verdict.ts'
import { needOf, sentenceOf, totalOf } from '../health/verdict-text.ts'
import { record, time } from '../output/schema.ts'
import { judgeNow, need, unreadParts, type VerdictConfig } from '../status/status.ts'
import { sumsForVerdict } from '../status/sums.ts'

const pile = z.object({
  count: z.int().describe('counted up to a limit'),
  oldest_at: time.nullable(),
})

const mend = z.object({
  operation: z.string().optional().describe('what mends it, or shows what a person has to decide; with `input`'),
  input: z.record(z.string(), z.string()).readonly().optional(),
  command: z.string().optional().describe('what to type'),
  tool: z.string().optional().describe('what assistants call with `input`'),
  runbook: z.string().optional().describe('the section of the runbook that tells what to do'),
  method: z.enum(['POST', 'PUT', 'DELETE']).optional().describe('with `path` and `body`: the request that mends it, where one can'),
  path: z.string().optional(),
  body: z.record(z.string(), z.string()).readonly().nullable().optional(),
})

/** Whether the mirror is right, and what that is judged by. */
export const overview = record('Overview', {
  verdict: z.enum(verdictWords),
  sentence: z.string().describe('the verdict and its reasons, for people'),
  since: time.nullable().describe('since when it needs a person or is behind; null when not known, or complete'),
  needs: z.array(
    need.extend({
      account: z.string().nullable().describe('that it is about; null: none'),
      destination: z.string().nullable().describe('that it is about; null: none'),
      run_id: z.string().nullable().describe('the reconcile run that it is about; null: none'),
      mend,
    }),
  ),
  unread: unreadParts,
  late: z
    .array(z.object({ kind: z.string(), of: z.string().nullable(), count: z.int().nullable(), since: time.nullable() }))
    .readonly()
    .describe('what is older than it should be, and gets fresh without a person'),
  served: z.boolean().describe('whether a process works on the database now'),
  submissions: z
    .object({ known: z.int().nullable(), unreachable: z.int().nullable(), never_read: z.int() })
    .describe('`known` and `unreachable` of a large mirror are counted once a minute; null: not yet'),
  counted_at: time.nullable().describe('when submissions were counted; null: now, or not yet'),
  inbox: pile.describe('deliveries that wait to be applied'),
  accounts: z.array(
    z.object({
      account: z.string(),
      state: z.string(),
      submissions: z.int().nullable().describe('null: not counted yet'),
      dead: pile,
      newest_read_at: time.nullable(),
      stalest_read_at: time.nullable(),
      oldest_wake_at: time.nullable(),
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

/** Reads it from the database alone, by queries that may be asked every few seconds. */
export async function readOverview(db: Db, config: VerdictConfig, showMend: ShowMend): Promise<Overview> {
  const { health, expected, judgement, countedAt } = await readJudgement(db, config)
  const accounts = servedAccounts(health, expected)
  return {
    verdict: judgement.verdict,
    sentence: sentenceOf(judgement, health, expected),
    since: judgement.since,
    needs: await Promise.all(
      judgement.matters.map(async (matter) => {
        const { mend, ...need } = needOf(matter)
        const { account, destination, name } = matter
        const runId = matter.kind === 'run_not_clean' ? name : null
        return { ...need, account, destination, run_id: runId, mend: await showMend(mend) }
      }),
    ),
    unread: health.unread,
    late: judgement.late,
    served: health.isServed,
    inbox: shown(health.inbox),
    submissions: {
      known: totalOf(accounts.map(({ submissions }) => submissions)),
      unreachable: totalOf(accounts.map(({ unreachable }) => unreachable)),
      never_read: accounts.reduce((sum, { neverRead }) => sum + neverRead, 0),
    },
    counted_at: countedAt,
    accounts: health.accounts.map((each) => ({
      account: each.account,
      state: each.state,
      submissions: each.submissions,
      dead: shown(each.dead),
      newest_read_at: each.newestReadAt,
      stalest_read_at: each.stalestReadAt,
      oldest_wake_at: each.oldestWakeAt,
    })),
    destinations: health.destinations.map((each) => ({
      destination: each.destination,
      state: each.state,
      oldest_unsent_at: each.oldestUnsentAt,
      dead: shown(each.dead),
      unknown: shown(each.unknown),
      held: shown(each.held),
      unmapped: shown(each.unmapped),
    })),
  }
}

function readJudgement(db: Db, config: VerdictConfig): ReturnType<typeof judgeNow> {
  const parts = new PartReader(db.clock)
  return parts.read('kept counts', () => sumsForVerdict(db.readNoWait), null).then((kept) => judgeNow(db, config, kept, parts))
}

function shown({ count, oldestAt }: Pile): z.input<typeof pile> {
  return { count, oldest_at: oldestAt }
}
