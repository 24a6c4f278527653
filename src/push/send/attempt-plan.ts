import type { Clock } from '../../base/clock.ts'
import type { DestinationConfig } from '../../config/config.ts'
import { storableText } from '../../model/json.ts'
import { msFromTime } from '../../model/time.ts'
import type { OutboxRow, RowResult } from '../../store/outbox/work.ts'
import type { LaneBlock } from '../../store/schema/tables.ts'
import type { Outcome } from '../contract/delivery.ts'
import { askedRestMs, isRefusal } from '../contract/outcomes.ts'

/** Tries before a message that the target refuses for what it is becomes a dead letter. */
const PERMANENT_TRIES = 3
/** A client that is not there is looked for again when the change is twice as old, and at the latest after so long. */
const LONGEST_WAIT_MS = 3_600_000
const SHORTEST_WAIT_MS = 5_000
/** What is kept of an error or a remark. */
const TEXT_LENGTH = 1_000

/**
 * How the lane goes on after a row: with the next one, after a while with the same one, or not before somebody does something. A client
 * that was not found is looked for again after `inMs`, where it is looked for at all.
 */
export type LaneStep =
  | { readonly type: 'go_on' }
  | { readonly type: 'due'; readonly inMs: number }
  | { readonly type: 'blocked'; readonly as: LaneBlock; readonly inMs?: number }

export interface AttemptPlan {
  readonly row: RowResult
  readonly lane: LaneStep
}

/** What a plan depends on beside the row and the outcome. */
export interface PlanContext {
  readonly destination: Pick<DestinationConfig, 'idempotent' | 'onDead' | 'scheduleMs'>
  readonly clock: Clock
  /** Whether the kind can ask the target for what it has. */
  readonly canLookUp: boolean
}

/** The row stays as it was before its claim: its try never came to anything. */
export function planUntried(row: RowOf): AttemptPlan {
  return { row: result(row, { uncertain: row.uncertain, status: row.status }), lane: { type: 'due', inMs: 0 } }
}

/** The row is given up at once: what it would say is no longer there. */
export function planLost(row: OutboxRow, { onDead }: Pick<DestinationConfig, 'onDead'>): AttemptPlan {
  const error = `change ${row.seq} is no longer in the change log as it was: somebody has deleted or damaged it, so there is nothing to send`
  return givenUp(row, 'dead', { error }, onDead)
}

/** The row is passed over, and its lane goes on: there is nothing that could be sent. @param why in words. */
export function planSkipped(row: OutboxRow, why: string): AttemptPlan {
  return { row: result(row, { state: 'skipped', error: why }), lane: { type: 'go_on' } }
}

/**
 * What becomes of a row after a try, or after a look for an earlier one. A refusal for good is tried three times, anything else as often
 * as the schedule says. A try whose end nobody saw is repeated where that does no harm; else it is looked for, or held for a human.
 * @param looked whether the outcome is of a look, so that an earlier try is still uncertain unless the look found it.
 */
export function planAttempt(
  row: RowOf & Pick<OutboxRow, 'changedAt'>,
  outcome: Outcome,
  context: PlanContext,
  looked = false,
): AttemptPlan {
  switch (outcome.type) {
    case 'delivered': {
      const { status, remoteId } = outcome
      const delivered = { state: 'delivered', attempts: row.attempts + 1, uncertain: false, remoteId } as const
      return { row: result(row, { ...delivered, status, detail: outcome.detail }), lane: { type: 'go_on' } }
    }
    case 'untried':
      return planUntried(row)
    case 'unmapped':
      return {
        row: result(row, { error: outcome.error, uncertain: looked }),
        lane: { type: 'blocked', as: 'unmapped', inMs: againInMs(row, context) },
      }
    case 'stop':
      // Its destination stands still until an operator resumes it; then this row is the first to go.
      return { row: result(row, { error: outcome.error, status: outcome.status, uncertain: looked }), lane: { type: 'due', inMs: 0 } }
    case 'unknown':
      return afterUnknown(row, outcome, context)
    case 'failed':
      return afterFailure(row, outcome, context, looked)
  }
}

function againInMs({ changedAt }: Pick<OutboxRow, 'changedAt'>, { clock, destination }: PlanContext): number {
  const shortest = Math.min(SHORTEST_WAIT_MS, destination.scheduleMs[0] ?? SHORTEST_WAIT_MS)
  const ageMs = clock.now() - msFromTime(changedAt)
  return Math.min(LONGEST_WAIT_MS, Math.max(shortest, Number.isNaN(ageMs) ? 0 : ageMs))
}

function afterUnknown(row: RowOf, outcome: Of<'unknown'>, context: PlanContext): AttemptPlan {
  const { destination, canLookUp } = context
  const { status = null } = outcome
  const failed = { ...outcome, type: 'failed', permanent: false, alive: false, status, retryAfterMs: askedRestMs(outcome) } as const
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
  // An uncertain row was not refused: its earlier try may have arrived, whatever kept us from finding out.
  const limit = !uncertain && isRefusedAgain(row, outcome) ? Math.min(PERMANENT_TRIES, most) : most
  if (attempts >= limit) return givenUp(row, uncertain ? 'unknown' : 'dead', { error, status }, destination.onDead)
  const planned = destination.scheduleMs[attempts - 1] ?? 0
  const jittered = planned * (0.9 + clock.random() * 0.2)
  const inMs = Math.round(Math.max(jittered, outcome.retryAfterMs ?? 0))
  return { row: result(row, { attempts, error, status, uncertain }), lane: { type: 'due', inMs } }
}

/** A single refusal after an outage, or after throttling, may be part of that: what is refused for good is refused twice in a row. */
function isRefusedAgain({ status }: RowOf, outcome: Of<'failed'>): boolean {
  if (!outcome.permanent) return false
  // Without a status it lies with ourselves, and is no passing thing. SOAP refuses with the status of an outage, 500.
  return outcome.status === null || (status !== null && (isRefusal(status) || status === outcome.status))
}

function givenUp(
  row: RowOf,
  state: 'dead' | 'unknown',
  said: Pick<Partial<RowResult>, 'error' | 'status'>,
  onDead: DestinationConfig['onDead'],
): AttemptPlan {
  return {
    row: result(row, { state, attempts: row.attempts + 1, uncertain: state === 'unknown', ...said }),
    // That it was given up is written down before anything behind it is sent: else, after a crash, it could still go, behind those.
    lane: onDead === 'hold' ? { type: 'blocked', as: 'held' } : { type: 'due', inMs: 0 },
  }
}

type RowOf = Pick<OutboxRow, 'outboxId' | 'attempts' | 'status' | 'uncertain'>
type Of<T extends Outcome['type']> = Extract<Outcome, { type: T }>

/** A row that stays as it is, except for what `change` says. */
function result(row: RowOf, change: Partial<RowResult>): RowResult {
  const { detail = null, error = null } = change
  const same = { state: 'ready', attempts: row.attempts, uncertain: false, status: null, remoteId: null } as const
  return { outboxId: row.outboxId, ...same, ...change, detail: cut(detail), error: cut(error) }
}

/** Both may repeat what a target said, which may be long, and hold what Postgres refuses. */
function cut(text: string | null): string | null {
  return text === null ? null : storableText(text.length <= TEXT_LENGTH ? text : `${text.slice(0, TEXT_LENGTH)}…`)
}
