import type { Clock } from '../../base/clock.ts'
import type { ConditionName } from '../../client/openapi/conditions.ts'
import type { Notice } from './activity-log.ts'
import type { ClockKind } from './clocks.ts'
import type { FaultInput, Preset } from './faults.ts'
import type { UnshownInput } from './unshown.ts'

/** Layouts of a `submission.events` delivery. The specification doesn't define the layout. */
export const eventsPayloads = ['events', 'data', 'single', 'ids-only', 'opaque'] as const
/**
 * - `events`: `{type, submission_id, events}`
 * - `data`: `{type, data: {submission_id, events}}`
 * - `single`: one delivery for each event, `{type, submission_id, event}`
 * - `ids-only`: `{type, submission_id, event_ids}`
 * - `opaque`: `{type}`
 */
export type EventsPayload = (typeof eventsPayloads)[number]

/** Waits between attempts of a delivery. The specification doesn't define these waits. */
export const RETRY_SCHEDULE_MS: readonly number[] = [500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000]

export interface AccountOptions {
  readonly name: string
  /** Default: a brokerage derived from the seed. */
  readonly brokerage?: { readonly id: string; readonly name: string }
  /** Number of submissions. Default: `SandboxOptions.submissions`. */
  readonly submissions?: number
  /** URL that gets the deliveries. Without a URL, no deliveries are sent. */
  readonly target?: string
  /** Event types to deliver, and `message` for messages. Default: everything. */
  readonly eventTypes?: readonly string[]
}

/** Options of a sandbox. Times are in ms. */
export interface SandboxOptions {
  /** Address to listen on. Default: 127.0.0.1. */
  readonly host?: string
  /** Port to listen on. Default: any free port. */
  readonly port?: number
  /** The real clock. A fast clock derives from it. Default: the system's clock. */
  readonly clock?: Clock
  /**
   * `real`: `clock` itself. `fast`: `clockFactor` times as fast. `step`: only `Sandbox.advance` advances the clock.
   * Default: `real`.
   */
  readonly clockKind?: ClockKind
  /** Speed of a fast clock. Default: 60. */
  readonly clockFactor?: number
  /** Ids, names, stories, and secrets derive from the seed. Default: `sandbox`. */
  readonly seed?: string
  /** Default: one account named `default`. */
  readonly accounts?: readonly AccountOptions[]
  /** Number of submissions of each account. Default: 12. */
  readonly submissions?: number
  /** Speed of the story: at 10, five minutes take 30 s. Default: 1. */
  readonly speed?: number
  /** Whether the story starts immediately. If not, call `Sandbox.story.start`. Default: true. */
  readonly autoStart?: boolean
  /**
   * Reference time of the generated data, in ms since the epoch. The generated history ends three hours earlier. The
   * same seed and reference time give the same data. Default: now.
   */
  readonly startMs?: number
  /** File that keeps the state between runs. Without a file, the state isn't saved. */
  readonly stateFile?: string
  readonly faults?: Preset | readonly FaultInput[]
  readonly eventsPayload?: EventsPayload
  /** Prefix of the signature headers, as in `svix-signature`. Default: `svix`. */
  readonly signatureHeaders?: 'svix' | 'webhook'
  /**
   * Whether to offer the lists `/broker/submissions` and `/broker/insureds`. The specification doesn't define
   * these lists. Default: false.
   */
  readonly lists?: boolean
  /**
   * Waits between attempts of a delivery. After the last attempt, the delivery is dead-lettered. Default:
   * `RETRY_SCHEDULE_MS`.
   */
  readonly retryScheduleMs?: readonly number[]
  /** Time limit of one attempt. Default: 10 s, like the service. */
  readonly deliveryTimeoutMs?: number
  /** Values for choices that the specification leaves open, by name. `Sandbox.unshown` lists all choices. */
  readonly unshown?: UnshownInput
  /** Called for each finished delivery, each fault, and each story step. */
  readonly observe?: (notice: Notice) => void
  /** Called for each answer, before it is sent. */
  readonly observeAnswer?: (answer: SentAnswer) => void
}

/** An answer as it is sent. */
export interface SentAnswer {
  readonly method: string
  /** Path below the base URL, without the query. */
  readonly path: string
  readonly status: number
  readonly contentType: string
  readonly body: Buffer
  /** Name of the error in `conditions.ts`; null for a success or a fault. */
  readonly condition: ConditionName | null
}
