import { z } from 'zod'
import type { AccountConfig } from '../../config/config.ts'
import type { Query } from '../../store/engine/db.ts'
import { webhookLoss } from '../../store/operators/alarm-queries.ts'
import { discoveryStatus } from '../../store/reads/path-reads.ts'
import type { AccountCompletenessView } from '../../store/schema/completeness.ts'
import { time } from '../output/schema.ts'
import { pluralize } from '../output/text.ts'

/** Which submissions the mirror can have. Shown with every figure about completeness. */
export const COMPLETENESS_SCOPE =
  'The mirror has only submissions that were named by a delivery, by `track`, or by a discovery path (`accounts[].discovery`). The service has no list of ' +
  'submissions, so it may have others.'

/** A row of the view `account_completeness`. */
export const accountCompleteness = z
  .looseObject({
    account: z.string(),
    submissions: z.int(),
    unreachable: z.int(),
    never_read: z.int().describe('submissions with a read that never finished'),
    lag_seconds: z.int().describe('age of the most overdue read'),
    reconciled: z.int().describe('submissions that a reconcile run found, or made, equal to the service'),
    oldest_reconciled_at: time.nullable(),
    known_by_webhook: z.int().describe('events and messages that a webhook delivered first; the others likewise'),
    known_by_poll: z.int(),
    known_by_backfill: z.int(),
    known_by_reconcile: z.int(),
    lost_webhooks: z.int().describe('events and messages without a webhook within WEBHOOK_LOST_AFTER'),
    webhook_loss_ratio: z.number().nullable().describe('lost webhooks as a share of expected ones; null: none were expected'),
  })
  .meta({ id: 'AccountCompleteness', description: 'a row of the view account_completeness' })

export const completeness = accountCompleteness.extend({
  webhook_loss_day: z
    .object({ expected: z.int(), lost: z.int(), since: time.nullable().describe('start of the hour of the first lost webhook') })
    .describe('in the last 24 hours'),
  discovery: z
    .array(
      z.object({
        path: z.string(),
        paths: z.int().describe('number of actual paths'),
        failing: z.int(),
        limited: z.int().describe('paths whose last answer had more new submissions than allowed'),
        oldest_answer_at: time.nullable(),
        found: z.int().describe('submissions found by it'),
        error: z.string().nullable(),
      }),
    )
    .describe('configured paths that are probed for submissions'),
})

type CompletenessStatus = AccountCompletenessView & z.output<typeof completeness>

/**
 * @returns the completeness of an account; null if `sums`, the totals of the account, is null.
 * @param settings the account in the settings; undefined if the settings no longer contain it.
 */
export async function completenessStatus(
  q: Query,
  sums: AccountCompletenessView | null,
  settings: AccountConfig | undefined,
): Promise<CompletenessStatus | null> {
  if (sums === null) return null
  return {
    ...sums,
    webhook_loss_day: await webhookLoss(q, sums.account),
    discovery: await discoveryStatus(q, sums.account, settings?.discovery?.paths ?? []),
  }
}

/** @returns one sentence per problem that an operator should check. */
export function completenessWarnings(account: string, c: z.output<typeof completeness> | null): string[] {
  if (c === null) return []
  const probes = c.discovery
    .filter(({ failing }) => failing > 0)
    .map(
      ({ path, paths, failing, error }) =>
        `account ${account}: probing ${path} fails for ${failing} of ${pluralize(paths, 'path')} (${error ?? 'unknown reason'}); ask the service for the ` +
        'right path, or remove it from accounts[].discovery.paths',
    )
  const limits = c.discovery
    .filter(({ limited }) => limited > 0)
    .map(
      ({ path }) =>
        `account ${account}: probing ${path} returns more submissions than one answer may add; later answers add the others. Check that it lists ` +
        'submissions, or remove it from accounts[].discovery.paths',
    )
  return [...probes, ...limits]
}
