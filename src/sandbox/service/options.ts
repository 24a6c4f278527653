import type { Clock } from '../../base/clock.ts'
import type { ConditionName } from '../../client/openapi/conditions.ts'
import type { Notice } from './activity-log.ts'
import type { ClockKind } from './clocks.ts'
import type { FaultInput, Preset } from './faults.ts'
import type { UnshownInput } from './unshown.ts'

/** Layouts of a `submission.events` delivery, which the spec doesn't define. */
export const eventsPayloads = ['events', 'data', 'single', 'ids-only', 'opaque'] as const
/**
 * - `events`: `{type, submission_id, events}`
 * - `data`: `{type, data: {submission_id, events}}`
 * - `single`: one delivery for each event, `{type, submission_id, event}`
 * - `ids-only`: `{type, submission_id, event_ids}`
 * - `opaque`: `{type}`
 */
export type EventsPayload = (typeof eventsPayloads)[number]

/** Waits between attempts of a delivery, which the spec doesn't define. */
export const RETRY_SCHEDULE_MS: readonly number[] = [500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000]

export interface AccountOptions {
  readonly name: string
  /** Default: derived from the seed. */
  readonly brokerage?: { readonly id: string; readonly name: string }
  /** Default: `SandboxOptions.submissions`. */
  readonly submissions?: number
  /** URL for deliveries. Default: no deliveries. */
  readonly target?: string
  /** Event types and `message`. Default: everything. */
  readonly eventTypes?: readonly string[]
}

/** Options of a sandbox. Times are in milliseconds. */
export interface SandboxOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** Default: any free port. */
  readonly port?: number
  /** Base of a fast clock. Default: the real clock. */
  readonly clock?: Clock
  /** `real`: `clock` itself. `fast`: `clockFactor` times as fast. `step`: advanced only by `Sandbox.advance`. Default: `real`. */
  readonly clockKind?: ClockKind
  /** Default: 60. */
  readonly clockFactor?: number
  /** Ids, names, stories and secrets derive from the seed. */
  readonly seed?: string
  /** Default: one account named `default`. */
  readonly accounts?: readonly AccountOptions[]
  /** Submissions per account. Default: 12. */
  readonly submissions?: number
  /** Speed of the story: at 10, five minutes take 30 s. Default: 1. */
  readonly speed?: number
  /** Whether the story starts immediately. Otherwise, `Sandbox.story` starts it. Default: true. */
  readonly autoStart?: boolean
  /** End of the generated history. The same seed and time give the same data. Default: now. */
  readonly startMs?: number
  /** State file, kept between runs. Default: none. */
  readonly stateFile?: string
  readonly faults?: Preset | readonly FaultInput[]
  readonly eventsPayload?: EventsPayload
  /** Prefix of the signature headers. */
  readonly signatureHeaders?: 'svix' | 'webhook'
  /** Whether to offer `/broker/submissions` and `/broker/insureds`, which the spec doesn't define. Default: false. */
  readonly lists?: boolean
  /** Waits between attempts of a delivery. After the last attempt, it is dead-lettered. */
  readonly retryScheduleMs?: readonly number[]
  /** Timeout of an attempt. Default: 10 s, as at the service. */
  readonly deliveryTimeoutMs?: number
  /** Choices that the spec leaves open, by name. `Sandbox.unshown` lists all. */
  readonly unshown?: UnshownInput
  /** Called for each finished delivery, fault and story step. */
  readonly observe?: (notice: Notice) => void
  /** Called for each answer before it is sent. */
  readonly observeAnswer?: (answer: SentAnswer) => void
}

/** An answer as sent. */
export interface SentAnswer {
  readonly method: string
  /** Below the base URL, without the query. */
  readonly path: string
  readonly status: number
  readonly contentType: string
  readonly body: Buffer
  /** Condition of an error; null for a success or a fault. */
  readonly condition: ConditionName | null
}
