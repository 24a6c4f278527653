import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import { LOST_AFTER_MS } from '../../store/completeness/lost-webhooks.ts'
import {
  firstWebhookHour,
  type RejectedCount,
  rejectedSince,
  unannouncedRecords,
  webhookLoss,
} from '../../store/operators/alarm-queries.ts'
import { ago, pluralize, shortTime } from '../output/text.ts'
import { type Condition, levelOf, ofAccount } from './condition.ts'
import { emptyRhythm } from './rhythm.ts'
import { silentSince } from './silence.ts'
import type { WatchContext, Watcher } from './watcher.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Fewer lost webhooks in a day are how networks are. */
const LOST_ENOUGH = 10
const LOST_SHARE = 0.2
const LOST_SMALL_SHARE = 0.1
/** So many refused deliveries, and none taken since, are no stranger. */
const REFUSED_ENOUGH = 3

/** Whether deliveries come, and are taken. */
export const deliveryWatcher: Watcher = {
  names: ['webhook_silence', 'webhook_loss', 'deliveries_refused', 'delivery_too_large'],
  async check(sight) {
    const refused = await rejectedSince(sight.q, timeFromMs(sight.nowMs - DAY_MS))
    const conditions: Condition[] = []
    for (const { name: account } of sight.config.accounts) {
      const own = refused.filter((each) => each.account === account)
      conditions.push(await silence(account, sight, own), await loss(account, sight))
      conditions.push(await refusal(account, sight), tooLarge(account, own))
    }
    return conditions
  },
}

async function silence(account: string, { q, rhythms, nowMs }: WatchContext, refused: readonly RejectedCount[]): Promise<Condition> {
  const rhythm = rhythms.get(account) ?? emptyRhythm
  const { lastAtMs } = rhythm
  const news = await unannouncedRecords(q, account, {
    // What a delivery told of is found within moments of it, also when the delivery itself says nothing that can be read.
    after: timeFromMs((lastAtMs ?? 0) + LOST_AFTER_MS),
    upTo: timeFromMs(nowMs - LOST_AFTER_MS),
    happenedAfter: timeFromMs(lastAtMs ?? 0),
  })
  const sinceMs = silentSince(rhythm, { count: news.count, oldestAtMs: news.oldestAt === null ? null : msFromTime(news.oldestAt) }, nowMs)
  const never = lastAtMs === null
  const faults = signatureFaults(refused)
  const why =
    faults.length > 0
      ? `deliveries that come are refused: ${mendOf(faults)}`
      : 'see in the portal whether the endpoint is there, enabled, without a filter, and has the right URL'
  const how = never ? 'no webhook has ever come' : `no webhook has come for ${ago(timeFromMs(lastAtMs), nowMs)}`
  const text = `${how} for account ${account}, while polling found ${pluralize(news.count, 'record')} that one should have told of; ${why}`
  return ofAccount(account, 'webhook_silence', sinceMs === null ? 'off' : 'on', text, sinceMs ?? undefined)
}

/** What came before the first webhook was not lost: there may have been no endpoint. That none ever comes is told by `silence`. */
async function loss(account: string, { q, nowMs }: WatchContext): Promise<Condition> {
  const first = await firstWebhookHour(q, account)
  const since = Math.max(nowMs - DAY_MS, first === null ? nowMs : msFromTime(first))
  const { expected, lost } = await webhookLoss(q, account, timeFromMs(since))
  const share = expected === 0 ? 0 : Math.min(1, lost / expected)
  const level = lost < LOST_ENOUGH ? 'off' : levelOf(share, LOST_SMALL_SHARE, LOST_SHARE)
  const text =
    `${lost} of ${pluralize(expected, 'record')} of account ${account} were found by reading within a day, and no webhook told of them ` +
    `(${Math.round(share * 100)} %); see in the portal whether the endpoint has a filter, and what its log of attempts says`
  return ofAccount(account, 'webhook_loss', level, text)
}

/** Those of which the sender had a signature to show: a stranger seldom has. */
function signatureFaults(refused: readonly RejectedCount[]): RejectedCount[] {
  return refused.filter(({ reason }) => reason === 'wrong_signature' || reason === 'stale_timestamp')
}

function mendOf(faults: readonly RejectedCount[]): string {
  return onlyTimes(faults)
    ? 'set the clock of this machine by NTP'
    : 'compare WEBHOOK_SECRETS with the secret of the endpoint in the portal'
}

/** Whether nothing but their times was wrong, as far as was looked. */
function onlyTimes(faults: readonly RejectedCount[]): boolean {
  return faults.every(({ reason }) => reason === 'stale_timestamp')
}

/** What was refused before the last delivery that was taken says nothing. A sender's tries come hours apart: what fires goes on meanwhile. */
async function refusal(account: string, { q, rhythms, nowMs }: WatchContext): Promise<Condition> {
  const sinceMs = Math.max(nowMs - DAY_MS, rhythms.get(account)?.lastAtMs ?? 0)
  const faults = signatureFaults(await rejectedSince(q, timeFromMs(sinceMs))).filter((each) => each.account === account)
  const count = faults.reduce((total, each) => total + each.count, 0)
  const recent = faults.some(({ lastAt }) => msFromTime(lastAt) > nowMs - HOUR_MS)
  const then = onlyTimes(faults)
    ? '; what was refused for its time is not kept: the sender repeats it, and polling finds what it told of'
    : ', then `submission-mirror inbox replay --rejected`'
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
    count > 0 ? 'on' : 'off',
    `${pluralize(count, 'delivery', 'deliveries')} for account ${account} ${count === 1 ? 'was' : 'were'} refused within a day, being longer than ` +
      'WEBHOOK_BODY_LIMIT; raise it, and the limit of the proxy before it',
  )
}
