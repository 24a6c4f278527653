import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import { newestDelivery } from '../../store/completeness/newest-delivery.ts'
import { refusedConnectionsSince } from '../../store/inbox/refused-connections.ts'
import { differingSince } from '../../store/inbox/repeats.ts'
import { type RejectedCount, rejectedSince, unannouncedRecords, webhookLossOfDay } from '../../store/operators/alarm-queries.ts'
import { SELF_DELIVERY_TYPE } from '../../upstream/webhook/delivery.ts'
import { lossFrom, lostShare, webhooksLost } from '../health/matters.ts'
import { ago, pluralize, shortTime } from '../output/text.ts'
import { type Condition, levelOf, ofAccount, ofInstallation, ofMatter } from './condition.ts'
import { silentSince } from './silence.ts'
import type { WatchContext, Watcher } from './watcher.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** One may be a fault of the sender's that never comes again. */
const DIFFERING_ENOUGH = 2
/** Refused connections within 5 minutes: some come from every port scan. */
const FLOOD_MS = 5 * MINUTE_MS
const FLOOD = 500
const SMALL_FLOOD = 100
/** Fewer refused deliveries may come from a stranger. */
const REFUSED_ENOUGH = 3

/** Whether deliveries arrive and are accepted. */
export const deliveryWatcher: Watcher = {
  names: ['webhook_silence', 'webhook_loss', 'deliveries_refused', 'delivery_too_large', 'delivery_differs', 'connection_flood'],
  async check(context) {
    const refused = await rejectedSince(context.q, timeFromMs(context.nowMs - DAY_MS))
    const conditions: Condition[] = [await flood(context)]
    for (const { name: account } of context.config.accounts) {
      const own = refused.filter((each) => each.account === account)
      const lastAt = (await newestDelivery(context.q, account, SELF_DELIVERY_TYPE, timeFromMs(context.nowMs)))?.receivedAt
      const lastAtMs = lastAt === undefined ? null : msFromTime(lastAt)
      conditions.push(await silence(account, context, lastAtMs, own), await loss(account, context))
      conditions.push(await refusal(account, context, lastAtMs), tooLarge(account, own), await differs(account, context))
    }
    return conditions
  },
}

async function silence(
  account: string,
  { q, config, nowMs }: WatchContext,
  lastAtMs: number | null,
  refused: readonly RejectedCount[],
): Promise<Condition> {
  const found = await unannouncedRecords(q, account, {
    // Not records found soon after a delivery: it may have announced them in a form that cannot be read.
    after: timeFromMs((lastAtMs ?? 0) + config.webhooks.lostAfterMs),
    upTo: timeFromMs(nowMs - config.webhooks.lostAfterMs),
    happenedAfter: timeFromMs(lastAtMs ?? 0),
  })
  const oldestAtMs = found.oldestAt === null ? null : msFromTime(found.oldestAt)
  const sinceMs = silentSince(lastAtMs, { count: found.count, oldestAtMs }, config.webhooks.silenceAfterMs, nowMs)
  const never = lastAtMs === null
  const faults = signatureFaults(refused)
  const why =
    faults.length > 0
      ? `deliveries are refused: ${mendOf(faults)}`
      : 'check in the portal that the endpoint exists, is enabled, has no filter and has the right URL'
  const how = never ? 'no webhook has ever come' : `no webhook has come for ${ago(timeFromMs(lastAtMs), nowMs)}`
  const text = `${how} for account ${account}, while polling found ${pluralize(found.count, 'record')} that one should have announced; ${why}`
  return ofAccount(account, 'webhook_silence', sinceMs !== null, text, sinceMs ?? undefined)
}

/** Begins where the need does, and ends at half of it. */
async function loss(account: string, { q }: WatchContext): Promise<Condition> {
  const found = await webhookLossOfDay(q, account)
  const level = levelOf(lostShare(found), lossFrom.share / 2, lossFrom.share)
  return ofMatter('webhook_loss', { account }, webhooksLost(account, found), level)
}

/** Those that had a signature: a stranger's seldom do. */
function signatureFaults(refused: readonly RejectedCount[]): RejectedCount[] {
  return refused.filter(({ reason }) => reason === 'wrong_signature' || reason === 'stale_timestamp')
}

function mendOf(faults: readonly RejectedCount[]): string {
  return onlyTimes(faults)
    ? 'set the clock of this machine by NTP'
    : 'compare WEBHOOK_SECRETS with the secret of the endpoint in the portal'
}

/** Whether all were refused for their time alone. */
function onlyTimes(faults: readonly RejectedCount[]): boolean {
  return faults.every(({ reason }) => reason === 'stale_timestamp')
}

/**
 * Counts refusals since the last accepted delivery. A sender's attempts come hours apart, so that the alarm stays `between` when there was
 * none within the last hour.
 */
async function refusal(account: string, { q, nowMs }: WatchContext, lastAtMs: number | null): Promise<Condition> {
  const sinceMs = Math.max(nowMs - DAY_MS, lastAtMs ?? 0)
  const faults = signatureFaults(await rejectedSince(q, timeFromMs(sinceMs))).filter((each) => each.account === account)
  const count = faults.reduce((total, each) => total + each.count, 0)
  const recent = faults.some(({ lastAt }) => msFromTime(lastAt) > nowMs - HOUR_MS)
  const then = onlyTimes(faults)
    ? '; nothing is lost: the sender repeats them, and polling finds what they announced'
    : ', then run `submission-mirror inbox replay --rejected`'
  const last = faults.reduce<TimeText | null>((newest, { lastAt }) => (newest === null || lastAt > newest ? lastAt : newest), null)
  return ofAccount(
    account,
    'deliveries_refused',
    count === 0 ? 'off' : count >= REFUSED_ENOUGH && recent ? 'on' : 'between',
    `${pluralize(count, 'delivery', 'deliveries')} in a row for account ${account} ${count === 1 ? 'was' : 'were'} refused ` +
      `(${faults.map(({ reason }) => reason).join(', ')}), the last at ${shortTime(last)} UTC; ${mendOf(faults)}${then}`,
  )
}

function tooLarge(account: string, refused: readonly RejectedCount[]): Condition {
  const count = refused.find(({ reason }) => reason === 'body_too_large')?.count ?? 0
  return ofAccount(
    account,
    'delivery_too_large',
    count > 0,
    `${pluralize(count, 'delivery', 'deliveries')} for account ${account} ${count === 1 ? 'was' : 'were'} refused within a day for being larger than ` +
      'WEBHOOK_BODY_LIMIT; raise it, and the limit of the proxy in front',
  )
}

async function differs(account: string, { q, nowMs }: WatchContext): Promise<Condition> {
  const count = await differingSince(q, account, timeFromMs(nowMs - DAY_MS))
  return ofAccount(
    account,
    'delivery_differs',
    count >= DIFFERING_ENOUGH,
    `within a day ${pluralize(count, 'well-signed delivery', 'well-signed deliveries')} for account ${account} came under a known id with another body; the first ` +
      'bodies stay, and the feeds were read; tell the service, and if it knows nothing of them, change the webhook secret',
  )
}

async function flood({ q, nowMs }: WatchContext): Promise<Condition> {
  const { connections, worstAddress } = await refusedConnectionsSince(q, timeFromMs(nowMs - FLOOD_MS))
  return ofInstallation(
    'connection_flood',
    levelOf(connections, SMALL_FLOOD, FLOOD),
    `${connections} connections were refused or closed within five minutes, most of them from ${worstAddress ?? 'unknown'}; deliveries are taken; block the ` +
      'address in the firewall or proxy, or set TRUST_PROXY if it is your own proxy',
  )
}
