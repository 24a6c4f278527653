import { setImmediate } from 'node:timers/promises'
import { messageOf } from '../../base/errors.ts'
import { earlier, type TimeLimit, timeLimit } from '../../base/time-limit.ts'
import type { WakeUp } from '../../base/wakeup.ts'
import type { DestinationConfig } from '../../config/config.ts'
import type { ServiceParts } from '../../store/engine/db.ts'
import { releaseMappedStreams } from '../../store/outbox/push-map.ts'
import { type ClaimedStream, claimStreams, releaseStreams, type StreamClaim, type StreamResult } from '../../store/outbox/work.ts'
import type { DeliveryKind } from '../contract/delivery.ts'
import type { DestinationGate } from './destination-gate.ts'
import type { Limits, RowSender } from './row-sender.ts'
import type { Settler } from './settler.ts'

/** Longest interval between reads of the outbox without a signal. */
export const SWEEP_MS = 1_000
/** Longest interval between lookups of missing clients, if the kind supports lookups. */
const SEARCH_MS = 5_000
/** Interval of checks for streams whose client is now known. When a person writes a row to `push_map`, no signal is sent. */
const MAPPED_MS = 10_000
/** Maximum streams per check, so that the event loop isn't blocked. */
const MAPPED_STREAMS = 500
/** Lease of a stream in addition to its attempts, and the margin at its end in which no attempt begins. */
const LEASE_MS = 30_000
const LEASE_MARGIN_MS = 5_000
/** Maximum requests per row: finding its client, looking up an earlier attempt, sending. */
const MOST_REQUESTS = 3

/** Shared by the parts of one destination's sender. */
export interface SendContext extends Pick<ServiceParts, 'db' | 'clock' | 'log'> {
  readonly destination: DestinationConfig
  readonly kind: DeliveryKind
  readonly gate: DestinationGate
  readonly rowSender: RowSender
  readonly settler: Settler
  readonly wakeUp: WakeUp
  /** Aborts when nothing new may start. */
  readonly stopping: AbortSignal
  /** Aborts when attempts in flight are aborted. */
  readonly cancelled: AbortSignal
}

/** Claimed streams, and the end of their lease by local clocks. */
export interface Claim {
  readonly streams: readonly ClaimedStream[]
  readonly lease: TimeLimit
}

function longestRowMs({ timeoutMs }: Pick<DestinationConfig, 'timeoutMs'>, requests: number): number {
  return timeoutMs * requests + LEASE_MARGIN_MS
}

/** Upper bound of a destination's stream lease, for every kind. */
export function longestStreamLeaseMs(destination: Pick<DestinationConfig, 'timeoutMs'>): number {
  return LEASE_MS + destination.timeoutMs + longestRowMs(destination, MOST_REQUESTS)
}

/** Claims, releases and settles streams, for both loops. */
export class StreamClaims {
  readonly context: SendContext
  readonly #leaseMs: number
  readonly #rowMs: number
  readonly #searchMs: number
  #searchAt = Number.NEGATIVE_INFINITY
  #mappedAt = Number.NEGATIVE_INFINITY
  /** Streams without an attempt. They are collected until the end of this event loop turn and released in one transaction. */
  readonly #untouched: ClaimedStream[] = []
  #releasing: Promise<void> | null = null

  constructor(context: SendContext) {
    this.context = context
    const { kind, destination } = context
    const requests = 1 + (kind.lookUp ? 1 : 0) + (kind.findMapping ? 1 : 0)
    this.#rowMs = longestRowMs(destination, requests)
    this.#searchMs = Math.min(SEARCH_MS, destination.scheduleMs[0] ?? SEARCH_MS)
    this.#leaseMs = LEASE_MS + destination.timeoutMs + this.#rowMs
  }

  /**
   * Claims due streams. Stores new pauses and stops first, so that the claim respects them. @throws database errors, after releasing all
   * claims.
   */
  async claim(streams: number, rowsPerStream: number): Promise<Claim> {
    const { db, clock, gate, destination, kind } = this.context
    const halts = await gate.flush()
    await this.#releaseMapped()
    const lease = timeLimit(clock, this.#leaseMs)
    const uncertain = !destination.idempotent
    const withoutSubmissions = kind.withoutSubmission === true
    const common: Omit<StreamClaim, 'streams'> = {
      rowsPerStream,
      leaseMs: this.#leaseMs,
      uncertain,
      withoutSubmissions,
      lookupAfterMs: kind.lookupAfterMs,
    }
    const unmapped = this.#isTimeToSearch() ? await claimStreams(db, destination.name, { ...common, streams, unmapped: true }) : []
    const room = streams - unmapped.length
    const others = room > 0 ? await this.orRelease(unmapped, claimStreams(db, destination.name, { ...common, streams: room })) : []
    const claimed = [...unmapped, ...others]
    const isProbe = claimed.some((stream) => stream.isProbe)
    if (claimed.length > 0) gate.reopen(halts, isProbe)
    return { streams: claimed, lease }
  }

  #isTimeToSearch(): boolean {
    const { clock, destination } = this.context
    if (destination.mapping !== 'lookup' || clock.steady() < this.#searchAt) return false
    this.#searchAt = clock.steady() + this.#searchMs
    return true
  }

  /** Releases streams whose client is now known, or no longer needed. */
  async #releaseMapped(): Promise<void> {
    const { db, clock, destination, stopping } = this.context
    if (clock.steady() < this.#mappedAt) return
    this.#mappedAt = clock.steady() + MAPPED_MS
    const isNeeded = destination.mapping !== 'none'
    let after = await releaseMappedStreams(db, destination.name, null, MAPPED_STREAMS, isNeeded)
    while (after !== null && !stopping.aborted) after = await releaseMappedStreams(db, destination.name, after, MAPPED_STREAMS, isNeeded)
  }

  limits(lease: TimeLimit): Limits {
    const { stopping, cancelled } = this.context
    return { stopping, cancelled, until: earlier(lease, this.#rowMs) }
  }

  /** Stores the results of streams, those of one answer together. Releases streams without an attempt. */
  async settle(results: readonly StreamResult[], lease: TimeLimit): Promise<void> {
    const attempted = results.filter(({ rows }) => rows.length > 0)
    const untouched = results.filter(({ rows }) => rows.length === 0)
    if (attempted.length > 0) await this.context.settler.add(attempted, lease)
    if (untouched.length > 0) await this.#releaseTogether(untouched.map(({ stream }) => stream))
  }

  async #releaseTogether(streams: readonly ClaimedStream[]): Promise<void> {
    this.#untouched.push(...streams)
    this.#releasing ??= setImmediate().then(() => {
      this.#releasing = null
      return this.release(this.#untouched.splice(0))
    })
    await this.#releasing
  }

  /** @param streams claimed before. @throws errors of `claiming`, after releasing `streams`. */
  async orRelease<T>(streams: readonly ClaimedStream[], claiming: Promise<T>): Promise<T> {
    try {
      return await claiming
    } catch (error) {
      await this.release(streams)
      throw error
    }
  }

  /** Releases streams without an attempt. On failure, their leases expire. */
  async release(streams: readonly ClaimedStream[]): Promise<void> {
    const { db, log, destination, gate } = this.context
    if (streams.some(({ isProbe }) => isProbe)) gate.releaseProbe()
    // Rows that were uncertain before the claim stay uncertain.
    const uncertain = streams.filter((stream) => stream.rows.some((row) => row.uncertain))
    const certain = streams.filter((stream) => !uncertain.includes(stream))
    try {
      if (certain.length > 0) await releaseStreams(db, certain, { clearUncertain: !destination.idempotent })
      if (uncertain.length > 0) await releaseStreams(db, uncertain, { clearUncertain: false })
    } catch (error) {
      log.warn(
        { destination: destination.name, streams: streams.length, err: error },
        `${streams.length} streams of destination ${destination.name} stay claimed until their lease ends (${this.#leaseMs / 1000} s): they could not be released (${messageOf(error)})`,
      )
    }
  }
}
