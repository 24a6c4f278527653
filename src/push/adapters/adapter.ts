import type { Clock } from '../../base/clock.ts'
import { messageOf, TransientError } from '../../base/errors.ts'
import type { AdapterDestination } from '../../config/config.ts'
import type { Mapping, PushItem } from '../contract/delivery.ts'
import { type Answer, type Failure, requestedPauseMs, StepFailure } from '../contract/outcomes.ts'
import type { OutgoingRequest } from '../transport/transport.ts'

/** The settings of the destination that an adapter needs. */
export type AdapterOptions = Pick<AdapterDestination, 'url' | 'settings' | 'credentials'>

export type StepRequest = Omit<OutgoingRequest, 'timeoutMs'>

/**
 * The requests of one delivery, within its timeout and its signal. `query` and `submit` return any answer, and throw StepFailure when none
 * comes.
 */
export interface Steps {
  readonly clock: Clock
  /** Sends a request that changes nothing at the target: signing in, looking up. Without an answer the delivery is attempted again. */
  query(request: StepRequest): Promise<Answer>
  /** Sends the request by which the target takes the change. Without an answer the outcome is unknown. */
  submit(request: StepRequest): Promise<Answer>
  /** @returns steps for shared work, such as signing in: they have their own timeout and do not end with this delivery. */
  independent(): Steps
  /** Waits for shared work within the time of this delivery; the work itself goes on. @throws StepFailure when the time is over. */
  wait<T>(work: Promise<T>): Promise<T>
}

/** The target has the change. */
export interface Taken {
  readonly status: number | null
  /** The record's id at the target. */
  readonly remoteId: string | null
  readonly detail: string | null
}

/**
 * An AMS that needs several requests per change. An adapter keeps nothing that must survive the process, and retries nothing except signing
 * in. Methods throw StepFailure with the outcome; PermanentError when the same change would be refused again; anything else when a later
 * attempt can help.
 */
export interface Adapter {
  /** @param item has a mapping, unless the destination has `mapping: none`. */
  deliver(item: PushItem, steps: Steps): Promise<Taken>
  /** Finds the client of the AMS by an id, never by a name; null when there is none. */
  readonly findMapping?: (item: PushItem, steps: Steps) => Promise<Mapping | null>
  /** One harmless request. @returns a sentence that says what is right. */
  probe(steps: Steps): Promise<string>
}

/** An adapter in the registry. */
export interface AdapterDefinition {
  /** Names allowed in `settings` and `credentials` of the destination, and whether they are required. */
  readonly settings: Readonly<Record<string, 'needed' | 'optional'>>
  readonly credentials: Readonly<Record<string, 'needed' | 'optional'>>
  /** @returns one phrase for each problem of a destination whose names are right. */
  check(destination: AdapterDestination): readonly string[]
  create(options: AdapterOptions): Adapter
}

/**
 * @returns the outcome of a delivery after a failed step that changes nothing at the target: the change was not taken, and a refusal of the
 * step says nothing about the change. A suspension stays one.
 */
export function withoutEffect(failure: Failure): Failure {
  if (failure.type === 'suspend' || failure.type === 'throttled' || (failure.type === 'failed' && !failure.permanent)) return failure
  const { alive, status } = failure.type === 'failed' ? failure : { alive: false, status: null }
  return { type: 'failed', permanent: false, alive, status, error: failure.error, retryAfterMs: requestedPauseMs(failure) }
}

/** @returns the outcome when looking something up at the target threw `error`. */
export function lookupFailure(error: unknown): Failure {
  if (error instanceof StepFailure) return withoutEffect(error.failure)
  const retryAfterMs = error instanceof TransientError ? (error.retryAfterMs ?? null) : null
  return { type: 'failed', permanent: false, alive: false, status: null, error: messageOf(error), retryAfterMs }
}
