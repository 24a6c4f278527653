import type { Clock } from '../../base/clock.ts'
import type { FaultInput, Preset } from './faults.ts'
import type { Notice } from './logbook.ts'

/** How a `submission.events` delivery is laid out, which the service does not show. */
export const eventsPayloads = ['events', 'data', 'single', 'ids-only', 'opaque'] as const
/**
 * `events`: `{type, submission_id, events}` · `data`: `{type, data: {submission_id, events}}` · `single`: one delivery for
 * each event, `{type, submission_id, event}` · `ids-only`: `{type, submission_id, event_ids}` · `opaque`: nothing but the type.
 */
export type EventsPayload = (typeof eventsPayloads)[number]

/** One brokerage of the world. */
export interface AccountOptions {
  readonly name: string
  /** Made up from the seed when left out. */
  readonly brokerage?: { readonly id: string; readonly name: string }
  /** How many submissions to make up; the common number when left out. */
  readonly submissions?: number
  /** Where deliveries are posted; no deliveries when left out. */
  readonly target?: string
  /** The endpoint's filter: feed event types and `message`; everything when left out. */
  readonly eventTypes?: readonly string[]
}

/** Everything that can be chosen about a sandbox; each has a default. Times are in milliseconds. */
export interface SandboxOptions {
  /** 127.0.0.1 when left out. */
  readonly host?: string
  /** 0, any free port, when left out. */
  readonly port?: number
  readonly clock?: Clock
  /** Everything made up follows from it: ids, names, stories, secrets. */
  readonly seed?: string
  /** One account named `default` when left out. */
  readonly accounts?: readonly AccountOptions[]
  /** Submissions of each account that does not say its own number; 12 when left out. */
  readonly submissions?: number
  /** How many times as fast as written the story is told: a story of five minutes takes 30 s at 10. 1 when left out. */
  readonly speed?: number
  /** Whether the story starts by itself; true when left out. Otherwise `startStory` starts it, or `step` tells it by hand. */
  readonly autoStart?: boolean
  /** Which moment the history leads up to; the time now when left out. Seed and this moment give the same world. */
  readonly startMs?: number
  readonly faults?: Preset | readonly FaultInput[]
  readonly eventsPayload?: EventsPayload
  /** First part of the three signature headers' names. */
  readonly signatureHeaders?: 'svix' | 'webhook'
  /** Whether events that become visible behind a cursor are delivered too; false when left out. */
  readonly announceLate?: boolean
  /** Whether `/broker/submissions` and `/broker/insureds` list what there is; false when left out: the service describes no list. */
  readonly lists?: boolean
  /** The waits between the tries of a delivery; after the last it is given up. */
  readonly retryScheduleMs?: readonly number[]
  /** How long one try waits for its acknowledgement; 10 s when left out, as the service does. */
  readonly deliveryTimeoutMs?: number
  /** How the token answer says `expires_in`; `absent`: it holds nothing but the token, all that the service shows of it. */
  readonly expiresIn?: 'number' | 'text' | 'absent'
  /** Hears of each delivery's end, each fault and each step of the story. */
  readonly observe?: (notice: Notice) => void
}
