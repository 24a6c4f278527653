import type { Clock } from '../../base/clock.ts'
import type { DestinationConfig } from '../../config/config.ts'
import { storableText } from '../../model/json.ts'
import { msFromTime } from '../../model/time.ts'
import type { OutboxRow, RowResult } from '../../store/outbox/work.ts'
import type { LaneBlock } from '../../store/schema/push.ts'
import type { Outcome } from '../contract/delivery.ts'
import { isRefusal, repeatable } from '../contract/outcomes.ts'

/** Attempts before a message that the target refuses as such becomes a dead letter. */
const REFUSED_ATTEMPTS = 3
/** A missing client is looked for again when the change is twice as old, within these bounds. */
const LONGEST_WAIT_MS = 3_600_000
const SHORTEST_WAIT_MS = 5_000
/** Characters that are kept of an error or a remark. */
const TEXT_LENGTH = 1_000

/**
 * How the lane continues after a row: with the next row, with the same row after a while, or blocked until somebody acts. A lane that is
 * blocked because its client is unknown looks for the client again after `inMs`, where the kind can.
 */
export type LaneStep =
  | { readonly type: 'go_on' }
  | { readonly type: 'due'; readonly inMs: number }
  | { readonly type: 'blocked'; readonly as: LaneBlock; readonly inMs?: number }

export interface AttemptPlan {
  readonly row: RowResult
  readonly lane: LaneStep
}

/** What a plan depends on, beside the row and the outcome. */
export interface PlanContext {
  readonly destination: Pick<DestinationConfig, 'idempotent' | 'onDead' | 'scheduleMs'>
  readonly clock: Clock
  /** Whether the kind can look up what the target has. */
  readonly canLookUp: boolean
}

/** The row stays as it was before its claim, except for what was achieved: the attempt doesn't count. */
export function planNotAttempted(row: RowOf, outcome?: Outcome): AttemptPlan {
  const kept = outcome?.type === 'unknown' ? withProgress(row, outcome) : row
  return { row: result(kept, { uncertain: row.uncertain, status: row.status }), lane: { type: 'due', inMs: 0 } }
}

/** The row is given up at once: its change is gone from the change log. */
export function planLost(row: OutboxRow, { onDead }: Pick<DestinationConfig, 'onDead'>): AttemptPlan {
  const error = `change ${row.seq} is no longer in the change log as it was: somebody has deleted or damaged it, so there is nothing to send`
  return givenUp(row, 'dead', { error }, onDead)
}

/** The row is skipped, and its lane goes on. @param reason a sentence for the operator. */
export function planSkipped(row: OutboxRow, reason: string): AttemptPlan {
  return { row: result(row, { state: 'skipped', error: reason }), lane: { type: 'go_on' } }
}

/**
 * What becomes of a row after an attempt, or after a lookup of an earlier attempt. A refused message is attempted three times, or once where
 * the settings say that the refusal is final, anything else as often as the schedule says. An attempt whose end nobody saw is repeated where repeating is harmless; elsewhere the message is
 * looked up, or held for a person.
 * @param isLookup the outcome is that of a lookup: unless it found the message, the earlier attempt is still uncertain.
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
      return { row: result(row, { ...delivered, status, detail: outcome.detail }), lane: { type: 'go_on' } }
    }
    case 'record_taken': {
      const { status, remoteId, progress } = outcome
      // The progress must be stored before the upload. Otherwise, after a crash, the record could be made twice.
      return { row: result(row, { status, remoteId, progress }), lane: { type: 'due', inMs: 0 } }
    }
    case 'not_attempted':
    case 'split':
      return planNotAttempted(row)
    case 'unmapped':
      return {
        row: result(row, { error: outcome.error, uncertain: isLookup }),
        lane: { type: 'blocked', as: 'unmapped', inMs: nextSearchMs(row, context) },
      }
    case 'suspend':
      // The row keeps its place. Streams that became due earlier are tried first.
      return { row: result(row, { error: outcome.error, status: outcome.status, uncertain: isLookup }), lane: { type: 'due', inMs: 0 } }
    case 'throttled':
      return {
        row: result(row, { error: outcome.error, status: outcome.status, uncertain: isLookup }),
        lane: { type: 'due', inMs: outcome.retryAfterMs },
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
  const text = `${outcome.error}; it may have arrived, and this destination must not get it twice`
  return givenUp(row, 'unknown', { error: text, status }, destination.onDead)
}

function afterFailure(row: RowOf, outcome: Of<'failed'>, context: PlanContext, uncertain: boolean): AttemptPlan {
  const { destination, clock } = context
  const attempts = row.attempts + 1
  const { error, status } = outcome
  const most = destination.scheduleMs.length + 1
  // An uncertain row was not refused: its earlier attempt may have arrived, whatever kept us from finding out.
  const isEnd = outcome.isFinal === true && !uncertain
  const limit = !uncertain && isRefusedAgain(row, outcome) ? Math.min(REFUSED_ATTEMPTS, most) : most
  if (isEnd || attempts >= limit) return givenUp(row, uncertain ? 'unknown' : 'dead', { error, status }, destination.onDead)
  const planned = destination.scheduleMs[attempts - 1] ?? 0
  const jittered = planned * (0.9 + clock.random() * 0.2)
  const inMs = Math.round(Math.max(jittered, outcome.retryAfterMs ?? 0))
  return { row: result(row, { attempts, error, status, uncertain }), lane: { type: 'due', inMs } }
}

/** A single refusal after an outage, or after throttling, may be part of it. Only two refusals in a row count as one. */
function isRefusedAgain({ status }: RowOf, outcome: Of<'failed'>): boolean {
  if (!outcome.permanent) return false
  // No status: the fault is ours, and does not pass. SOAP refuses with 500, the status of an outage.
  return outcome.status === null || (status !== null && (isRefusal(status) || status === outcome.status))
}

function givenUp(
  row: RowOf,
  state: 'dead' | 'unknown',
  told: Pick<Partial<RowResult>, 'error' | 'status'>,
  onDead: DestinationConfig['onDead'],
): AttemptPlan {
  return {
    row: result(row, { state, attempts: row.attempts + 1, uncertain: state === 'unknown', ...told }),
    // The lane is due again, not continued: this result must be stored before the next row is sent. Otherwise, after a crash, this row
    // could still go out, behind the next one.
    lane: onDead === 'hold' ? { type: 'blocked', as: 'held' } : { type: 'due', inMs: 0 },
  }
}

function withProgress<R extends RowOf>(row: R, { progress }: Of<'unknown'>): R {
  return progress === undefined ? row : { ...row, progress }
}

type RowOf = Pick<OutboxRow, 'outboxId' | 'attempts' | 'status' | 'uncertain' | 'progress'>
type Of<T extends Outcome['type']> = Extract<Outcome, { type: T }>

/** A row that stays as it is, except for `change`. */
function result(row: RowOf, change: Partial<RowResult>): RowResult {
  const { detail = null, error = null } = change
  const { attempts, progress } = row
  const same = { state: 'ready', attempts, uncertain: false, status: null, progress, remoteId: null } as const
  return { outboxId: row.outboxId, ...same, ...change, detail: shortened(detail), error: shortened(error) }
}

/** Errors and remarks may repeat what a target said: long text, and characters that Postgres refuses. */
function shortened(text: string | null): string | null {
  return text === null ? null : storableText(text.length <= TEXT_LENGTH ? text : `${text.slice(0, TEXT_LENGTH)}…`)
}
