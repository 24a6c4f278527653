import { laterTime, msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import { newestDelivery } from '../../store/completeness/newest-delivery.ts'
import { rejectedConnectionsSince } from '../../store/inbox/rejected-connections.ts'
import { differingSince } from '../../store/inbox/repeats.ts'
import { type RejectedCount, rejectedSince, unannouncedRecords, webhookLossOfDay } from '../../store/operators/alarm-queries.ts'
import { inboxGauges } from '../../store/upkeep/gauges.ts'
import { SELF_DELIVERY_TYPE } from '../../upstream/webhook/delivery.ts'
import { deadDeliveries, webhooksLost } from '../health/from-health.ts'
import { levelOf, type Problem, problem } from '../health/problem.ts'
import { ago, pluralize, shortTime } from '../output/text.ts'
import { silentSince } from './silence.ts'
import type { WatchContext, Watcher } from './watcher.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** `delivery_differs` fires if this many deliveries of a day reuse an id with another body. One may be a mistake. */
const DIFFERING_ENOUGH = 2
/**
 * `connection_flood` counts rejected connections of the last `FLOOD_MS`.
 * The alarm fires at `FLOOD` connections and resolves at `SMALL_FLOOD`.
 * A few rejected connections are normal, for example because of port scans.
 */
const FLOOD_MS = 5 * MINUTE_MS
const FLOOD = 500
const SMALL_FLOOD = 100
/** `deliveries_rejected` fires if this many deliveries in a row are rejected. Fewer may come from strangers. */
const REJECTED_ENOUGH = 3

/** Watches whether deliveries arrive and are accepted. */
export const deliveryWatcher: Watcher = {
  names: ['webhook_silence', 'webhook_loss', 'deliveries_rejected', 'delivery_too_large', 'delivery_differs', 'connection_flood'],
  async check(context) {
    const rejected = await rejectedSince(context.q, timeFromMs(context.nowMs - DAY_MS))
    const found: Problem[] = [await flood(context)]
    for (const { name: account } of context.config.accounts) {
      const own = rejected.filter((each) => each.account === account)
      const lastAt = (await newestDelivery(context.q, account, SELF_DELIVERY_TYPE, timeFromMs(context.nowMs)))?.receivedAt
      const lastAtMs = lastAt === undefined ? null : msFromTime(lastAt)
      found.push(await silence(account, context, lastAtMs, own), ...webhooksLost(account, await webhookLossOfDay(context.q, account)))
      found.push(await rejections(account, context, lastAtMs), tooLarge(account, own), await differs(account, context))
    }
    return found
  },
}

async function silence(
  account: string,
  { q, config, nowMs }: WatchContext,
  lastAtMs: number | null,
  rejected: readonly RejectedCount[],
): Promise<Problem> {
  const found = await unannouncedRecords(q, account, {
    // Skip records that a poll found soon after the last delivery, because that delivery may have announced them.
    after: timeFromMs((lastAtMs ?? 0) + config.webhooks.lostAfterMs),
    upTo: timeFromMs(nowMs - config.webhooks.lostAfterMs),
    happenedAfter: timeFromMs(lastAtMs ?? 0),
  })
  const sinceMs = silentSince(lastAtMs, found, config.webhooks.silenceAfterMs, nowMs)
  const never = lastAtMs === null
  const faults = signatureFaults(rejected)
  const why =
    faults.length > 0
      ? `deliveries are rejected: ${fixOf(faults)}`
      : 'check in the portal that the endpoint exists, is enabled, has no filter and has the right URL'
  const how = never ? 'has never received a webhook' : `has received no webhook for ${ago(timeFromMs(lastAtMs), nowMs)}`
  const text = `account ${account} ${how}, while polling found ${pluralize(found.count, 'unannounced record')}; ${why}`
  const since = sinceMs === null ? null : timeFromMs(sinceMs)
  return problem('webhook_silence', { account, since }, since !== null, text)
}

/**
 * @returns the rejections because of a wrong signature or an old timestamp.
 * Strangers rarely send a signature, so the service probably sent these deliveries.
 */
function signatureFaults(rejected: readonly RejectedCount[]): RejectedCount[] {
  return rejected.filter(({ reason }) => reason === 'wrong_signature' || reason === 'stale_timestamp')
}

function fixOf(faults: readonly RejectedCount[]): string {
  return onlyTimes(faults)
    ? 'set the clock of this machine by NTP'
    : 'compare WEBHOOK_SECRETS with the secret of the endpoint in the portal'
}

function onlyTimes(faults: readonly RejectedCount[]): boolean {
  return faults.every(({ reason }) => reason === 'stale_timestamp')
}

/**
 * Counts deliveries rejected for their signature or timestamp since the last accepted delivery, within 24 h.
 * The alarm starts at `REJECTED_ENOUGH` rejections, if at least one was in the last hour.
 * A firing alarm resolves only when no rejection is left, because the service may retry only hours later.
 */
async function rejections(account: string, { q, nowMs }: WatchContext, lastAtMs: number | null): Promise<Problem> {
  const sinceMs = Math.max(nowMs - DAY_MS, lastAtMs ?? 0)
  const faults = signatureFaults(await rejectedSince(q, timeFromMs(sinceMs))).filter((each) => each.account === account)
  const count = faults.reduce((total, each) => total + each.count, 0)
  const recent = faults.some(({ last_at }) => msFromTime(last_at) > nowMs - HOUR_MS)
  const then = onlyTimes(faults)
    ? '; nothing is lost: the sender retries, and polling finds the same records'
    : ', then run `submission-mirror inbox replay --rejected`'
  const last = faults.reduce<TimeText | null>((newest, { last_at }) => laterTime(newest, last_at), null)
  return problem(
    'deliveries_rejected',
    { account },
    count === 0 ? 'off' : count >= REJECTED_ENOUGH && recent ? 'on' : 'between',
    `${pluralize(count, 'delivery', 'deliveries')} in a row for account ${account} ${count === 1 ? 'was' : 'were'} rejected ` +
      `(${faults.map(({ reason }) => reason).join(', ')}), the last at ${shortTime(last)} UTC; ${fixOf(faults)}${then}`,
  )
}

function tooLarge(account: string, rejected: readonly RejectedCount[]): Problem {
  const count = rejected.find(({ reason }) => reason === 'body_too_large')?.count ?? 0
  return problem(
    'delivery_too_large',
    { account },
    count > 0,
    `${pluralize(count, 'delivery', 'deliveries')} for account ${account} ${count === 1 ? 'was' : 'were'} rejected within a day, because ${count === 1 ? 'it exceeds' : 'they exceed'} ` +
      'WEBHOOK_BODY_LIMIT; raise WEBHOOK_BODY_LIMIT, and the limit of the proxy',
  )
}

async function differs(account: string, { q, nowMs }: WatchContext): Promise<Problem> {
  const count = await differingSince(q, account, timeFromMs(nowMs - DAY_MS))
  return problem(
    'delivery_differs',
    { account },
    count >= DIFFERING_ENOUGH,
    `within a day ${pluralize(count, 'well-signed delivery', 'well-signed deliveries')} for account ${account} reused a known id with a different body; the first ` +
      'bodies are kept, and the feeds were read; report it to the service, and if the service did not send them, change the webhook secret',
  )
}

async function flood({ q, nowMs }: WatchContext): Promise<Problem> {
  const { connections, worstAddress } = await rejectedConnectionsSince(q, timeFromMs(nowMs - FLOOD_MS))
  return problem(
    'connection_flood',
    {},
    levelOf(connections, SMALL_FLOOD, FLOOD),
    `${connections} connections were rejected or closed within five minutes, most from ${worstAddress ?? 'unknown'}; deliveries are still accepted; block the ` +
      'address in the firewall or proxy, or set TRUST_PROXY if it is your own proxy',
  )
}

const BACKLOG_MS = 60_000
const SMALL_BACKLOG_MS = 30_000

/**
 * Watches whether deliveries are processed.
 * Queries only the inbox, because a blocked worker may also block reads of the mirror.
 */
export const inboxWatcher: Watcher = {
  names: ['inbox_backlog', 'inbox_dead'],
  async check({ q, config, nowMs }) {
    const accounts = config.accounts.map(({ name }) => name)
    const gauges = await inboxGauges(q, accounts)
    const ready = gauges.find(({ state }) => state === 'ready')
    const waitMs = ready?.oldest_at ? nowMs - msFromTime(ready.oldest_at) : 0
    const backlog = problem(
      'inbox_backlog',
      {},
      levelOf(waitMs, SMALL_BACKLOG_MS, BACKLOG_MS),
      `${pluralize(ready?.count ?? 0, 'delivery', 'deliveries')} ${ready?.count === 1 ? 'waits' : 'wait'} to be processed, the oldest for ${ago(ready?.oldest_at ?? null, nowMs)}; check the ` +
        'log for one that fails repeatedly; otherwise check that machine and database are fast enough',
    )
    const dead = gauges.flatMap((gauge) => (gauge.state === 'dead' ? deadDeliveries(gauge.account ?? '', gauge) : []))
    return [backlog, ...dead]
  },
}
