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

/** How often the outbox is read if no signal arrives, in ms. */
export const SWEEP_MS = 1_000
/** How often streams without a known AMS client are claimed to look up the client, in ms. */
const SEARCH_MS = 5_000
/**
 * How often to check whether the AMS clients of unmapped streams are now known, in ms. A person who adds a row to
 * `push_map` sends no signal.
 */
const MAPPED_MS = 10_000
/** Maximum streams per query that looks for known AMS clients. A larger query would block the event loop. */
const MAPPED_STREAMS = 500
/**
 * A stream's lease lasts at least `LEASE_MS` longer than its requests may take. When the last attempt ends,
 * `LEASE_MARGIN_MS` of the lease must be left. Both in ms.
 */
const LEASE_MS = 30_000
const LEASE_MARGIN_MS = 5_000
/** Maximum requests per row: find the client, look up an earlier attempt, send. */
const MOST_REQUESTS = 3

/** What the parts of one destination's sender share. */
export interface SendContext extends Pick<ServiceParts, 'db' | 'clock' | 'log'> {
  readonly destination: DestinationConfig
  readonly kind: DeliveryKind
  readonly gate: DestinationGate
  readonly rowSender: RowSender
  readonly settler: Settler
  readonly wakeUp: WakeUp
  /** Aborts when no new work may start. */
  readonly stopping: AbortSignal
  /** Aborts when attempts in flight must stop. */
  readonly canceled: AbortSignal
}

/** Claimed streams, and the end of their leases by this machine's clock. */
export interface Claim {
  readonly streams: readonly ClaimedStream[]
  readonly lease: TimeLimit
}

function longestRowMs({ timeoutMs }: Pick<DestinationConfig, 'timeoutMs'>, requests: number): number {
  return timeoutMs * requests + LEASE_MARGIN_MS
}

/** @returns the longest lease that a stream of this destination can have, in ms. */
export function longestStreamLeaseMs(destination: Pick<DestinationConfig, 'timeoutMs'>): number {
  return LEASE_MS + destination.timeoutMs + longestRowMs(destination, MOST_REQUESTS)
}

/** Claims, releases, and settles streams for `StreamLoop` and `BatchLoop`. */
export class StreamClaims {
  readonly context: SendContext
  readonly #leaseMs: number
  readonly #rowMs: number
  readonly #searchMs: number
  #searchAt = Number.NEGATIVE_INFINITY
  #mappedAt = Number.NEGATIVE_INFINITY
  /**
   * Claimed streams without an attempt. Collected during one turn of the event loop, then released in one transaction.
   */
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
   * Claims due streams. Stores new pauses and suspensions of the destination first, so that the claim respects them.
   * @throws database errors, after releasing all claims.
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

  /** Makes a stream due if its AMS client is now known or no longer needed. */
  async #releaseMapped(): Promise<void> {
    const { db, clock, destination, stopping } = this.context
    if (clock.steady() < this.#mappedAt) return
    this.#mappedAt = clock.steady() + MAPPED_MS
    const isNeeded = destination.mapping !== 'none'
    let after = await releaseMappedStreams(db, destination.name, null, MAPPED_STREAMS, isNeeded)
    while (after !== null && !stopping.aborted) after = await releaseMappedStreams(db, destination.name, after, MAPPED_STREAMS, isNeeded)
  }

  limits(lease: TimeLimit): Limits {
    const { stopping, canceled } = this.context
    return { stopping, canceled, until: earlier(lease, this.#rowMs) }
  }

  /** Stores the results of streams. Releases streams without an attempt. */
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

  /**
   * Waits for `claiming`. If `claiming` fails, releases `streams`, which were claimed earlier.
   * @throws errors of `claiming`.
   */
  async orRelease<T>(streams: readonly ClaimedStream[], claiming: Promise<T>): Promise<T> {
    try {
      return await claiming
    } catch (error) {
      await this.release(streams)
      throw error
    }
  }

  /** Releases streams without an attempt. If the database fails, the streams stay claimed until their leases end. */
  async release(streams: readonly ClaimedStream[]): Promise<void> {
    const { db, log, destination, gate } = this.context
    if (streams.some(({ isProbe }) => isProbe)) gate.releaseProbe()
    // Removes the mark `uncertain` that the claim set. If an earlier attempt of a row may have arrived, the row's
    // stream keeps its marks.
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
