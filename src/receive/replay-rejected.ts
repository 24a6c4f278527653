import { DROPPED } from '../model/protection/protection.ts'
import { msFromTime, type TimeText } from '../model/time.ts'
import type { RejectedRecord, RejectedStore } from '../store/inbox/rejected.ts'
import type { LastUses } from '../store/reads/last-uses.ts'
import type { DeliveryVerifier } from '../upstream/webhook/signature.ts'
import type { Appender } from './group-commit.ts'
import { storedHeaders } from './rejections.ts'

interface ReplayRejectedOptions {
  readonly store: RejectedStore
  readonly appender: Appender
  /** Records when each secret was used last. */
  readonly lastUses: Pick<LastUses, 'note'>
  /** Verifiers by account name. */
  readonly verifiers: ReadonlyMap<string, DeliveryVerifier>
  /** If set, verifies only deliveries with these values of `rejected_id`. */
  readonly ids?: readonly number[] | undefined
  /** If set, verifies only deliveries of this account. */
  readonly account?: string | undefined
  /** If set, verifies only deliveries received at this time or later. */
  readonly since?: TimeText | undefined
  /** If set, verifies only deliveries received before this time. */
  readonly until?: TimeText | undefined
}

interface ReplayedRejected {
  /** Number of deliveries that were verified now and stored in the inbox. */
  readonly accepted: number
  /** Number of deliveries that are still rejected, by reason. */
  readonly rejected: Readonly<Record<string, number>>
}

/**
 * Verifies rejected deliveries again, oldest first. Call this after a webhook secret was corrected. Compares a
 * delivery's timestamp with its time of arrival, not with the current time. Stores verified deliveries in the
 * inbox, which ignores duplicates.
 * @throws TransientError if the database can't store a delivery. Deliveries accepted before then stay accepted.
 */
export async function replayRejected(options: ReplayRejectedOptions): Promise<ReplayedRejected> {
  const { store, ids, account, since, until } = options
  const kept = await store.list({ account, since, until })
  let accepted = 0
  const rejected: Record<string, number> = {}
  const isAsked = ({ rejected_id, replayed_at }: (typeof kept)[number]) => replayed_at === null && (ids?.includes(rejected_id) ?? true)
  for (const { rejected_id } of kept.filter(isAsked).reverse()) {
    const record = await store.get(rejected_id)
    if (record === null) continue
    const reason = await replayOne(options, record)
    if (reason === null) accepted += 1
    else rejected[reason] = (rejected[reason] ?? 0) + 1
  }
  return { accepted, rejected }
}

/** @returns the reason why the delivery stays rejected; null if the delivery was accepted. */
async function replayOne({ store, appender, lastUses, verifiers }: ReplayRejectedOptions, record: RejectedRecord): Promise<string | null> {
  const { account, received_at: receivedAt } = record
  const verifier = account === null ? undefined : verifiers.get(account)
  if (account === null || verifier === undefined) return 'unknown_account'
  // A delivery without a stored body was rejected because of its headers or size. Both are unchanged,
  // so the reason stays.
  if (record.body === null) return record.reason
  if (record.body_cut) return 'body_cut'
  const body = store.original(record.body, record)
  // If protected text was dropped from the stored body, the signature can't match the body. The feeds
  // provide the content instead.
  if (body.includes(`"${DROPPED}`)) return 'body_protected'
  const verified = verifier.verifyAt(msFromTime(receivedAt), record.headers, body)
  if (!verified.ok) return verified.reason
  const { deliveryId, secret } = verified
  const headers = storedHeaders(verified.headers, record.headers)
  const [failure] = await appender.append([{ account, deliveryId, receivedAt, headers, body, secret }])
  if (failure !== null) throw failure ?? new Error('the database gave no outcome for a delivery')
  lastUses.note('webhook_secret', account, verifier.tags[secret - 1] ?? '', msFromTime(receivedAt))
  await store.markReplayed(record.rejected_id)
  return null
}
