import { z } from 'zod'
import type { AccountConfig } from '../../config/config.ts'
import { timeFromMs } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { webhookLoss } from '../../store/operators/alarm-queries.ts'
import { discoveryStatus } from '../../store/reads/path-reads.ts'
import type { AccountCompletenessView } from '../../store/schema/completeness.ts'
import { time } from '../output/schema.ts'
import { pluralize } from '../output/text.ts'

const DAY_MS = 86_400_000

/** What "complete" means and what cannot be known. Shown wherever completeness is. */
export const COMPLETENESS_SCOPE =
  'Complete means: for every submission that is known. The service offers no list of submissions, so one that no delivery, no `track` and no ' +
  'probed path (accounts[].discovery) has named is not known here. That such submissions exist cannot be excluded.'

/** What is known to be complete of an account, and by what means. */
export const completeness = z.object({
  never_read: z.int().describe('submissions of which at least one read never finished'),
  lag_seconds: z.int().describe('age of the most overdue read'),
  proven: z.int().describe('submissions that a reconcile run has proven'),
  unproven: z.int(),
  oldest_proof_at: time.nullable(),
  known_by: z
    .object({ webhook: z.int(), poll: z.int(), backfill: z.int(), reconcile: z.int() })
    .describe('events and messages by how they became known first'),
  lost_webhooks: z.int().describe('events and messages without a webhook within WEBHOOK_LOST_AFTER'),
  webhook_loss_ratio: z.number().nullable().describe('lost webhooks as a share of those expected; null: none was expected'),
  webhook_loss_day: z
    .object({ expected: z.int(), lost: z.int(), since: time.nullable().describe('start of the hour of the first lost webhook') })
    .describe('of the last 24 hours'),
  discovery: z
    .array(
      z.object({
        path: z.string(),
        paths: z.int().describe('how many the path stands for'),
        failing: z.int(),
        limited: z.int().describe('of which the last answer named more new submissions than one may bring in'),
        oldest_answer_at: time.nullable(),
        found: z.int().describe('submissions that became known by it'),
        error: z.string().nullable(),
      }),
    )
    .describe('paths of the settings that are probed for submissions'),
})

type CompletenessStatus = z.output<typeof completeness>

/** @param settings of the account; undefined when it is not configured any more. */
export async function completenessStatus(
  q: Query,
  sums: AccountCompletenessView,
  settings: AccountConfig | undefined,
  nowMs: number,
): Promise<CompletenessStatus> {
  const {
    account,
    known_by_webhook: webhook,
    known_by_poll: poll,
    known_by_backfill: backfill,
    known_by_reconcile: reconcile,
    ...rest
  } = sums
  return {
    ...rest,
    unproven: Math.max(0, sums.submissions - sums.proven),
    known_by: { webhook, poll, backfill, reconcile },
    webhook_loss_day: await webhookLoss(q, account, timeFromMs(nowMs - DAY_MS)),
    discovery: await discoveryStatus(q, account, settings?.discovery?.paths ?? []),
  }
}

/** One sentence for each thing that an operator should look into. */
export function completenessWarnings(account: string, c: CompletenessStatus | null): string[] {
  if (c === null) return []
  const probes = c.discovery
    .filter(({ failing }) => failing > 0)
    .map(
      ({ path, paths, failing, error }) =>
        `account ${account}: probing ${path} fails for ${failing} of ${pluralize(paths, 'path')} (${error ?? 'no reason is kept'}); ask the service for the ` +
        'right path, or take it out of accounts[].discovery.paths',
    )
  const limits = c.discovery
    .filter(({ limited }) => limited > 0)
    .map(
      ({ path }) =>
        `account ${account}: probing ${path} names more submissions than one answer may bring in; the next ones bring the others. See whether it lists ` +
        'submissions, and take it out of accounts[].discovery.paths if it does not',
    )
  return [...probes, ...limits]
}
