import { messageOf, ProductError, TransientError } from '../../base/errors.ts'
import type { AdapterDestination } from '../../config/config.ts'
import type { Mapping, PushItem } from '../contract/delivery.ts'
import { type Answer, type Failure, requestedPauseMs } from '../contract/outcomes.ts'
import type { OutgoingRequest } from '../transport/transport.ts'

/** What an adapter is made of: its destination's settings. */
export type AdapterOptions = Pick<AdapterDestination, 'url' | 'settings' | 'credentials'>

export type StepRequest = Omit<OutgoingRequest, 'timeoutMs'>

/**
 * The requests of one delivery, which share its time and its end. `query` and `submit` throw StepFailure when no answer comes; any answer is
 * returned.
 */
export interface Steps {
  /** Sends what changes nothing at the target: signing in, looking up. Without an answer it is tried again later. */
  query(request: StepRequest): Promise<Answer>
  /** Sends that by which the target takes the change. Without an answer nobody knows whether it did. */
  submit(request: StepRequest): Promise<Answer>
  /** @returns the steps of what other deliveries wait for too: they have a time of their own, and this delivery's end is not theirs. */
  independent(): Steps
  /** Waits for such work as long as this delivery may last; the work itself goes on. @throws StepFailure when that was too short. */
  wait<T>(work: Promise<T>): Promise<T>
}

/** The target has the change. */
export interface Taken {
  readonly status: number | null
  /** What the target calls the record. */
  readonly remoteId: string | null
  readonly detail: string | null
}

/**
 * One AMS that needs several steps. It never retries, but for signing in anew, and keeps nothing that must survive the process. A method
 * that cannot end throws: StepFailure says what it means; PermanentError, that the same change would be refused again; anything else,
 * that it may be tried later.
 */
export interface Adapter {
  /** @param item has a mapping, unless the destination needs none. */
  deliver(item: PushItem, steps: Steps): Promise<Taken>
  /** Looks for a change that may have been taken; null when the target does not have it. Left out where there is no way to ask. */
  readonly lookUp?: (item: PushItem, steps: Steps) => Promise<Taken | null>
  /** Finds the client of the AMS by an id, never by a name; null when there is none. */
  readonly findMapping?: (item: PushItem, steps: Steps) => Promise<Mapping | null>
  /** One harmless try. @returns a sentence that says what was found to be right. */
  probe(steps: Steps): Promise<string>
}

/** An adapter as the registry knows it. */
export interface AdapterDefinition {
  /** The names that `settings` and `credentials` of the destination may have, and whether they must be there. */
  readonly settings: Readonly<Record<string, 'needed' | 'optional'>>
  readonly credentials: Readonly<Record<string, 'needed' | 'optional'>>
  /** @returns a part of a sentence for each thing that is wrong with a destination whose names are right. */
  check(destination: AdapterDestination): readonly string[]
  create(options: AdapterOptions): Adapter
}

/** A step that did not lead on, with what that means for the delivery. */
export class StepFailure extends ProductError {
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure.error)
    this.failure = failure
  }
}

/**
 * @returns what a failed step means that changes nothing at the target: whatever became of it, the change was not taken, and its refusal
 * says nothing of the change. Only a withdrawn credential stays what it is.
 */
export function withoutEffect(failure: Failure): Failure {
  if (failure.type === 'stop' || (failure.type === 'failed' && !failure.permanent)) return failure
  const { alive, status } = failure.type === 'failed' ? failure : { alive: false, status: null }
  return { type: 'failed', permanent: false, alive, status, error: failure.error, retryAfterMs: requestedPauseMs(failure) }
}

/** @returns what it means that asking the target for something threw `error`. */
export function lookupFailure(error: unknown): Failure {
  if (error instanceof StepFailure) return withoutEffect(error.failure)
  const retryAfterMs = error instanceof TransientError ? (error.retryAfterMs ?? null) : null
  return { type: 'failed', permanent: false, alive: false, status: null, error: messageOf(error), retryAfterMs }
}
