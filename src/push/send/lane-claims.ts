import { setImmediate } from 'node:timers/promises'
import { messageOf } from '../../base/errors.ts'
import { earlier, type TimeLimit, timeLimit } from '../../base/time-limit.ts'
import type { WakeUp } from '../../base/wakeup.ts'
import type { DestinationConfig } from '../../config/config.ts'
import type { ServiceParts } from '../../store/engine/db.ts'
import { releaseMappedLanes } from '../../store/outbox/push-map.ts'
import { type ClaimedLane, claimLanes, type LaneClaim, type LaneResult, releaseLanes } from '../../store/outbox/work.ts'
import type { DeliveryKind } from '../contract/delivery.ts'
import type { DestinationGate } from './destination-gate.ts'
import type { Limits, RowSender } from './row-sender.ts'
import type { Settler } from './settler.ts'

/** Longest time between two looks at the outbox, when nothing wakes the sender. */
export const SWEEP_MS = 1_000
/** Longest time between two searches for missing clients, where the kind can search. */
const SEARCH_MS = 5_000
/** Time between two looks for lanes whose client is known by now: nothing wakes the sender for a row that a person writes to `push_map`. */
const MAPPED_MS = 10_000
/** Lanes that one such statement looks at, so that it does not hold up the event loop. */
const MAPPED_LANES = 500
/** Lease of a lane beyond the time of its attempts, and the part at its end in which no attempt begins. */
const LEASE_MS = 30_000
const LEASE_MARGIN_MS = 5_000
/** Requests that one row may take: finding its client, looking for an earlier attempt, sending it. */
const MOST_REQUESTS = 3

/** What the parts of one destination's sender share. */
export interface SendContext extends Pick<ServiceParts, 'db' | 'clock' | 'log'> {
  readonly destination: DestinationConfig
  readonly kind: DeliveryKind
  readonly gate: DestinationGate
  readonly rowSender: RowSender
  readonly settler: Settler
  readonly wakeUp: WakeUp
  /** Aborts when nothing new may begin. */
  readonly stopping: AbortSignal
  /** Aborts when attempts in flight are aborted too. */
  readonly cancelled: AbortSignal
}

/** Claimed lanes, and when their lease ends by our own clocks. */
export interface Claim {
  readonly lanes: readonly ClaimedLane[]
  readonly lease: TimeLimit
}

/** The longest time that one row can take with so many requests. */
function longestRowMs({ timeoutMs }: Pick<DestinationConfig, 'timeoutMs'>, requests: number): number {
  return timeoutMs * requests + LEASE_MARGIN_MS
}

/** The longest lease of a lane of a destination, whatever its kind can do. */
export function longestLaneLeaseMs(destination: Pick<DestinationConfig, 'timeoutMs'>): number {
  return LEASE_MS + destination.timeoutMs + longestRowMs(destination, MOST_REQUESTS)
}

/** Claims, releases and settles lanes, for both loops. */
export class LaneClaims {
  readonly context: SendContext
  readonly #leaseMs: number
  /** Longest time that one row can take. */
  readonly #rowMs: number
  readonly #searchMs: number
  #searchAt = Number.NEGATIVE_INFINITY
  #mappedAt = Number.NEGATIVE_INFINITY
  /** Lanes without an attempt, collected until the end of this turn of the event loop and released in one transaction. */
  readonly #untouched: ClaimedLane[] = []
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
   * Claims lanes that are due. A pause or stop that became known is stored first, so that the claim respects it.
   * @throws what the database throws; nothing stays claimed then.
   */
  async claim(lanes: number, rowsPerLane: number): Promise<Claim> {
    const { db, clock, gate, destination, kind } = this.context
    const halts = await gate.flush()
    await this.#releaseMapped()
    const lease = timeLimit(clock, this.#leaseMs)
    const uncertain = !destination.idempotent
    const withoutSubmissions = kind.withoutSubmission === true
    const common: Omit<LaneClaim, 'lanes'> = {
      rowsPerLane,
      leaseMs: this.#leaseMs,
      uncertain,
      withoutSubmissions,
      lookupAfterMs: kind.lookupAfterMs,
    }
    const unmapped = this.#isTimeToSearch() ? await claimLanes(db, destination.name, { ...common, lanes, unmapped: true }) : []
    const room = lanes - unmapped.length
    const others = room > 0 ? await this.orRelease(unmapped, claimLanes(db, destination.name, { ...common, lanes: room })) : []
    const claimed = [...unmapped, ...others]
    if (claimed.length > 0)
      gate.reopen(
        halts,
        claimed.some(({ isProbe }) => isProbe),
      )
    return { lanes: claimed, lease }
  }

  #isTimeToSearch(): boolean {
    const { clock, destination } = this.context
    if (destination.mapping !== 'lookup' || clock.steady() < this.#searchAt) return false
    this.#searchAt = clock.steady() + this.#searchMs
    return true
  }

  /** Releases lanes that waited for a client which is known now, or which the settings no longer need. */
  async #releaseMapped(): Promise<void> {
    const { db, clock, destination, stopping } = this.context
    if (clock.steady() < this.#mappedAt) return
    this.#mappedAt = clock.steady() + MAPPED_MS
    const isNeeded = destination.mapping !== 'none'
    let after = await releaseMappedLanes(db, destination.name, null, MAPPED_LANES, isNeeded)
    while (after !== null && !stopping.aborted) after = await releaseMappedLanes(db, destination.name, after, MAPPED_LANES, isNeeded)
  }

  limits(lease: TimeLimit): Limits {
    const { stopping, cancelled } = this.context
    return { stopping, cancelled, until: earlier(lease, this.#rowMs) }
  }

  /** Stores the results of lanes, those of one answer together. A lane of which nothing was attempted is released. */
  async settle(results: readonly LaneResult[], lease: TimeLimit): Promise<void> {
    const attempted = results.filter(({ rows }) => rows.length > 0)
    const untouched = results.filter(({ rows }) => rows.length === 0)
    if (attempted.length > 0) await this.context.settler.add(attempted, lease)
    if (untouched.length > 0) await this.#releaseTogether(untouched.map(({ lane }) => lane))
  }

  async #releaseTogether(lanes: readonly ClaimedLane[]): Promise<void> {
    this.#untouched.push(...lanes)
    this.#releasing ??= setImmediate().then(() => {
      this.#releasing = null
      return this.release(this.#untouched.splice(0))
    })
    await this.#releasing
  }

  /** @returns what `claiming` returns. @throws what it throws, after releasing `lanes`, which were claimed before. */
  async orRelease<T>(lanes: readonly ClaimedLane[], claiming: Promise<T>): Promise<T> {
    try {
      return await claiming
    } catch (error) {
      await this.release(lanes)
      throw error
    }
  }

  /** Releases lanes of which nothing was attempted. When that fails, their leases end by themselves. */
  async release(lanes: readonly ClaimedLane[]): Promise<void> {
    const { db, log, destination, gate } = this.context
    if (lanes.some(({ isProbe }) => isProbe)) gate.releaseProbe()
    // Rows that were uncertain before the claim stay so: nobody has found out yet.
    const uncertain = lanes.filter((lane) => lane.rows.some((row) => row.uncertain))
    const certain = lanes.filter((lane) => !uncertain.includes(lane))
    try {
      if (certain.length > 0) await releaseLanes(db, certain, { clearUncertain: !destination.idempotent })
      if (uncertain.length > 0) await releaseLanes(db, uncertain, { clearUncertain: false })
    } catch (error) {
      log.warn(
        { destination: destination.name, lanes: lanes.length, err: error },
        `${lanes.length} lanes of destination ${destination.name} stay claimed until their lease ends (${this.#leaseMs / 1000} s): they could not be released (${messageOf(error)})`,
      )
    }
  }
}
