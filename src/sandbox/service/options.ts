import type { Clock } from '../../base/clock.ts'
import type { ConditionName } from '../../client/openapi/conditions.ts'
import type { Notice } from './activity-log.ts'
import type { ClockKind } from './clocks.ts'
import type { FaultInput, Preset } from './faults.ts'
import type { UnshownInput } from './unshown.ts'

/** Layouts of a `submission.events` delivery. The spec does not show it. */
export const eventsPayloads = ['events', 'data', 'single', 'ids-only', 'opaque'] as const
/**
 * - `events`: `{type, submission_id, events}`
 * - `data`: `{type, data: {submission_id, events}}`
 * - `single`: one delivery for each event, `{type, submission_id, event}`
 * - `ids-only`: `{type, submission_id, event_ids}`
 * - `opaque`: `{type}`
 */
export type EventsPayload = (typeof eventsPayloads)[number]

/** Waits between the attempts of a delivery. The spec does not show them. */
export const RETRY_SCHEDULE_MS: readonly number[] = [500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000]

export interface AccountOptions {
  readonly name: string
  /** Default: derived from the seed. */
  readonly brokerage?: { readonly id: string; readonly name: string }
  /** Number of generated submissions. Default: `SandboxOptions.submissions`. */
  readonly submissions?: number
  /** URL that receives deliveries. Default: no deliveries. */
  readonly target?: string
  /** The endpoint's filter: event types and `message`. Default: everything. */
  readonly eventTypes?: readonly string[]
}

/** Options of a sandbox. Times are milliseconds. */
export interface SandboxOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** Default: any free port. */
  readonly port?: number
  /** What a fast clock follows. Default: the real one. */
  readonly clock?: Clock
  /**
   * `real`: `clock` itself. `fast`: `clockFactor` times as fast. `step`: time passes only by `Sandbox.advance`. Default: `real`.
   */
  readonly clockKind?: ClockKind
  /** Default: 60. */
  readonly clockFactor?: number
  /** Ids, names, stories and secrets are derived from it. */
  readonly seed?: string
  /** Default: one account named `default`. */
  readonly accounts?: readonly AccountOptions[]
  /** Submissions of each account without a number of its own. Default: 12. */
  readonly submissions?: number
  /** Speed of the story: at 10, five minutes take 30 s. Default: 1. */
  readonly speed?: number
  /** Whether the story starts at once. Otherwise `startStory` starts it, or `step` plays it step by step. Default: true. */
  readonly autoStart?: boolean
  /** The moment at which history ends. The same seed and moment give the same data. Default: now. */
  readonly startMs?: number
  /** The file in which the world outlives the process. Default: none. */
  readonly stateFile?: string
  readonly faults?: Preset | readonly FaultInput[]
  readonly eventsPayload?: EventsPayload
  /** Prefix of the three signature headers. */
  readonly signatureHeaders?: 'svix' | 'webhook'
  /** Whether events that become visible behind a cursor are delivered too. Default: false. */
  readonly announceLate?: boolean
  /** Whether to answer `/broker/submissions` and `/broker/insureds`, which the spec does not describe. Default: false. */
  readonly lists?: boolean
  /** Waits between the attempts of a delivery; after the last one it is given up. */
  readonly retryScheduleMs?: readonly number[]
  /** Timeout of one attempt. Default: 10 s, as the service's. */
  readonly deliveryTimeoutMs?: number
  /** Form of `expires_in` in the token answer. `absent`: only the token, which is all that the spec shows. */
  readonly expiresIn?: 'number' | 'text' | 'absent'
  /** Other choices than the emulator's where the spec says "not shown": their names and values. `Sandbox.unshown` lists all. */
  readonly unshown?: UnshownInput
  /** Called for each finished delivery, each fault and each step of the story. */
  readonly observe?: (notice: Notice) => void
  /** Called for each whole answer of the API, before it is sent. Default: nobody looks. */
  readonly observeAnswer?: (answer: SentAnswer) => void
}

/** An answer of the API as it is sent. */
export interface SentAnswer {
  readonly method: string
  /** Below the base URL, without the query. */
  readonly path: string
  readonly status: number
  readonly contentType: string
  readonly body: Buffer
  /** Why it is an error; null for a success, and for one that a fault made. */
  readonly condition: ConditionName | null
}
