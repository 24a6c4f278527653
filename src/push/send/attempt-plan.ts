import type { Clock } from '../../base/clock.ts'
import type { DestinationConfig } from '../../config/config.ts'
import { storableText } from '../../model/json.ts'
import { msFromTime } from '../../model/time.ts'
import type { OutboxRow, RowResult } from '../../store/outbox/work.ts'
import type { StreamBlock } from '../../store/schema/push.ts'
import type { Outcome } from '../contract/delivery.ts'
import { isRefusal, repeatable } from '../contract/outcomes.ts'

/** A rejected message is dead-lettered after this many attempts. */
const REFUSED_ATTEMPTS = 3
/**
 * Limits of the wait before an unmapped submission's AMS client is looked up again, in ms. Between the limits, the wait
 * equals the age of the change.
 */
const LONGEST_WAIT_MS = 3_600_000
const SHORTEST_WAIT_MS = 5_000
/** Longest stored error or remark, in characters. */
const TEXT_LENGTH = 1_000

/**
 * How a stream continues.
 * - `go_on`: with the next row
 * - `due`: with its first unfinished row, after `inMs`
 * - `blocked`: when an operator acts or the AMS client is found. If `inMs` is set, the client is looked
 *   up after that time.
 */
export type StreamStep =
  | { readonly type: 'go_on' }
  | { readonly type: 'due'; readonly inMs: number }
  | { readonly type: 'blocked'; readonly as: StreamBlock; readonly inMs?: number }

export interface AttemptPlan {
  readonly row: RowResult
  readonly stream: StreamStep
}

export interface PlanContext {
  readonly destination: Pick<DestinationConfig, 'idempotent' | 'onDead' | 'scheduleMs'>
  readonly clock: Clock
  readonly canLookUp: boolean
}

/** Restores the row's state from before the claim, but keeps new progress. The attempt doesn't count. */
export function planNotAttempted(row: RowOf, outcome?: Outcome): AttemptPlan {
  const kept = outcome?.type === 'unknown' ? withProgress(row, outcome) : row
  return { row: result(kept, { uncertain: row.uncertain, status: row.status }), stream: { type: 'due', inMs: 0 } }
}

/** Dead-letters a row whose change is no longer in the change log. */
export function planLost(row: OutboxRow, { onDead }: Pick<DestinationConfig, 'onDead'>): AttemptPlan {
  const error = `change ${row.seq} cannot be sent, because it was deleted from the change log or damaged`
  return deadLettered(row, 'dead', { error }, onDead)
}

/**
 * Skips a row.
 * @param reason why the row is skipped, as a sentence for the operator.
 */
export function planSkipped(row: OutboxRow, reason: string): AttemptPlan {
  return { row: result(row, { state: 'skipped', error: reason }), stream: { type: 'go_on' } }
}

/**
 * Decides what follows an attempt, or a lookup of an earlier attempt.
 * - A rejected message is attempted three times, or once if the rejection is final.
 * - Other failures are retried by the schedule.
 * - An unknown outcome is retried if duplicates are harmless. Otherwise, the message is looked up at the target. If the
 *   destination has no lookup, a person must decide.
 * @param isLookup whether the outcome is from a lookup. If so, the earlier attempt stays uncertain, unless the lookup
 * found the message.
 */
export function planAttempt(
  row: RowOf & Pick<OutboxRow, 'changedAt'>,
  outcome: Outcome,
  context: PlanContext,
  isLookup = false,
): AttemptPlan {
  switch (outcome.type) {
    case 'delivered': {
      const { status, remoteId } = outcome
      const delivered = { state: 'delivered', attempts: row.attempts + 1, progress: null, remoteId } as const
      return { row: result(row, { ...delivered, status, detail: outcome.detail }), stream: { type: 'go_on' } }
    }
    case 'record_taken': {
      const { status, remoteId, progress } = outcome
      // Progress must be stored before the upload. Otherwise, a crash could create the record twice.
      return { row: result(row, { status, remoteId, progress }), stream: { type: 'due', inMs: 0 } }
    }
    case 'not_attempted':
    case 'split':
      return planNotAttempted(row)
    case 'unmapped':
      return {
        row: result(row, { error: outcome.error, uncertain: isLookup }),
        stream: { type: 'blocked', as: 'unmapped', inMs: nextSearchMs(row, context) },
      }
    case 'suspend':
      // The row stays first in its stream. After the suspension, streams that were due earlier are tried first.
      return { row: result(row, { error: outcome.error, status: outcome.status, uncertain: isLookup }), stream: { type: 'due', inMs: 0 } }
    case 'throttled':
      return {
        row: result(row, { error: outcome.error, status: outcome.status, uncertain: isLookup }),
        stream: { type: 'due', inMs: outcome.retryAfterMs },
      }
    case 'unknown':
      return afterUnknown(withProgress(row, outcome), outcome, context)
    case 'failed':
      return afterFailure(row, outcome, context, isLookup)
  }
}

function nextSearchMs({ changedAt }: Pick<OutboxRow, 'changedAt'>, { clock, destination }: PlanContext): number {
  const shortest = Math.min(SHORTEST_WAIT_MS, destination.scheduleMs[0] ?? SHORTEST_WAIT_MS)
  const ageMs = clock.now() - msFromTime(changedAt)
  return Math.min(LONGEST_WAIT_MS, Math.max(shortest, Number.isNaN(ageMs) ? 0 : ageMs))
}

function afterUnknown(row: RowOf, outcome: Of<'unknown'>, context: PlanContext): AttemptPlan {
  const { destination, canLookUp } = context
  const { status = null } = outcome
  const failed = repeatable(outcome)
  if (destination.idempotent) return afterFailure(row, failed, context, false)
  if (canLookUp) return afterFailure(row, failed, context, true)
  const text = `${outcome.error}; the change may have arrived, and this destination is not idempotent`
  return deadLettered(row, 'unknown', { error: text, status }, destination.onDead)
}

function afterFailure(row: RowOf, outcome: Of<'failed'>, context: PlanContext, uncertain: boolean): AttemptPlan {
  const { destination, clock } = context
  const attempts = row.attempts + 1
  const { error, status } = outcome
  const most = destination.scheduleMs.length + 1
  // A rejection isn't final for an uncertain row, because an earlier attempt may have arrived.
  const isEnd = outcome.isFinal === true && !uncertain
  const limit = !uncertain && isRefusedAgain(row, outcome) ? Math.min(REFUSED_ATTEMPTS, most) : most
  if (isEnd || attempts >= limit) return deadLettered(row, uncertain ? 'unknown' : 'dead', { error, status }, destination.onDead)
  const planned = destination.scheduleMs[attempts - 1] ?? 0
  const jittered = planned * (0.9 + clock.random() * 0.2)
  const inMs = Math.round(Math.max(jittered, outcome.retryAfterMs ?? 0))
  return { row: result(row, { attempts, error, status, uncertain }), stream: { type: 'due', inMs } }
}

/**
 * @returns whether the message was rejected twice in a row. A single rejection after an outage or throttling may be
 * part of the outage.
 */
function isRefusedAgain({ status }: RowOf, outcome: Of<'failed'>): boolean {
  if (!outcome.permanent) return false
  // A permanent failure without a status has a local cause, so it counts immediately. SOAP rejects with 500, so the
  // same status twice counts as a rejection.
  return outcome.status === null || (status !== null && (isRefusal(status) || status === outcome.status))
}

function deadLettered(
  row: RowOf,
  state: 'dead' | 'unknown',
  cause: Pick<Partial<RowResult>, 'error' | 'status'>,
  onDead: DestinationConfig['onDead'],
): AttemptPlan {
  return {
    row: result(row, { state, attempts: row.attempts + 1, uncertain: state === 'unknown', ...cause }),
    // Without `hold`, the stream is due again, so that this result is stored before the next row is sent. Otherwise,
    // after a crash, this row could be sent after the next row.
    stream: onDead === 'hold' ? { type: 'blocked', as: 'held' } : { type: 'due', inMs: 0 },
  }
}

function withProgress<R extends RowOf>(row: R, { progress }: Of<'unknown'>): R {
  return progress === undefined ? row : { ...row, progress }
}

type RowOf = Pick<OutboxRow, 'outboxId' | 'attempts' | 'status' | 'uncertain' | 'progress'>
type Of<T extends Outcome['type']> = Extract<Outcome, { type: T }>

function result(row: RowOf, change: Partial<RowResult>): RowResult {
  const { detail = null, error = null } = change
  const { attempts, progress } = row
  const same = { state: 'ready', attempts, uncertain: false, status: null, progress, remoteId: null } as const
  return { outboxId: row.outboxId, ...same, ...change, detail: shortened(detail), error: shortened(error) }
}

/** Shortens a text of the target. Replaces characters that Postgres rejects. */
function shortened(text: string | null): string | null {
  return text === null ? null : storableText(text.length <= TEXT_LENGTH ? text : `${text.slice(0, TEXT_LENGTH)}…`)
}
