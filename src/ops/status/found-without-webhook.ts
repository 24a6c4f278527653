import type { Config } from '../../config/config.ts'
import { type FoundPlace, type FoundWithoutWebhook, foundWithoutWebhook } from '../../store/completeness/found-without-webhook.ts'
import { LOST_AFTER_MS } from '../../store/completeness/lost-webhooks.ts'
import type { Db } from '../../store/engine/db.ts'
import { knownAccounts } from './accounts.ts'

export interface Found extends FoundWithoutWebhook {
  /** Whether its webhook counts as lost: it has not come within 15 minutes, and had somewhere to come to. */
  readonly lost: boolean
}

/** The newest records that a reading found without their webhook, of one account or of all, the newest first. @param after where the page before ended. */
export async function newestFound(
  db: Db,
  accounts: Config['accounts'],
  { account, after, limit }: { account?: string | undefined; after?: FoundPlace | undefined; limit: number },
): Promise<Found[]> {
  const found: FoundWithoutWebhook[] = []
  for (const { account: of } of await knownAccounts(db.read, accounts))
    if (account === undefined || account === of) found.push(...(await foundWithoutWebhook(db.read, of, limit, after)))
  const ripe = db.clock.now() - LOST_AFTER_MS
  return found
    .sort((a, b) => (a.known_at === b.known_at ? (a.record_id < b.record_id ? -1 : 1) : a.known_at < b.known_at ? 1 : -1))
    .slice(0, limit)
    .map((each) => ({ ...each, lost: !each.before_tracked && Date.parse(each.known_at) < ripe }))
}
