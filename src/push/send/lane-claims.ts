import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { WakeUp } from '../../base/wakeup.ts'
import type { DestinationConfig } from '../../config/config.ts'
import type { Db } from '../../store/engine/db.ts'
import { releaseMappedLanes } from '../../store/outbox/push-map.ts'
import { type ClaimedLane, claimLanes, type LaneResult, releaseLanes } from '../../store/outbox/work.ts'
import type { DeliveryKind } from '../contract/delivery.ts'
import type { DestinationGate } from './destination-gate.ts'
import type { Limits, RowSender } from './row-sender.ts'
import type { Settler } from './settler.ts'

/** Without a ring the outbox is looked at this often. */
export const SWEEP_MS = 1_000
/** Where clients are looked for, lanes that wait for theirs are looked at this often, if the schedule is not shorter. */
const LOOK_AGAIN_MS = 5_000
/** Neither a row written into `push_map` by hand nor a setting that asks for no client any more rings a bell: so often it is looked for. */
const HEED_MS = 10_000
/** Lanes looked at in one statement, as many as do not hold up the event loop. */
const HEED_LANES = 500
/** What a lease has beside its tries, and what of it is left alone at its end. */
const LEASE_MS = 30_000
const LEASE_MARGIN_MS = 5_000

export interface SendContext {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly destination: DestinationConfig
  readonly kind: DeliveryKind
  readonly gate: DestinationGate
  readonly rowSender: RowSender
  readonly settler: Settler
  readonly wakeUp: WakeUp
  /** Nothing new is begun after it. */
  readonly stopping: AbortSignal
  /** What is under way is broken off. */
  readonly over: AbortSignal
}

/** Claimed lanes, and when their lease is over by our own clock. */
export interface Claim {
  readonly lanes: readonly ClaimedLane[]
  readonly leaseUntil: number
}

/** Claiming and giving back, as both ways of sending do it. */
export class LaneClaims {
  readonly parts: SendContext
  readonly #leaseMs: number
  /** The longest that one row can take, from its beginning. */
  readonly #rowMs: number
  readonly #lookAgainMs: number
  #lookAt = Number.NEGATIVE_INFINITY
  #heedAt = Number.NEGATIVE_INFINITY

  constructor(parts: SendContext) {
    this.parts = parts
    const { kind, destination } = parts
    const requests = 1 + (kind.lookUp ? 1 : 0) + (kind.findMapping ? 1 : 0)
    this.#rowMs = destination.timeoutMs * requests + LEASE_MARGIN_MS
    this.#lookAgainMs = Math.min(LOOK_AGAIN_MS, destination.scheduleMs[0] ?? LOOK_AGAIN_MS)
    this.#leaseMs = LEASE_MS + destination.timeoutMs + this.#rowMs
  }

  /**
   * Claims lanes that are due. Whatever the destination asked for is written down first, so that the claim heeds it.
   * @throws what the store throws; nothing is claimed then.
   */
  async claim(lanes: number, rowsPerLane: number): Promise<Claim> {
    const { db, clock, gate, destination, kind } = this.parts
    const written = await gate.settled()
    await this.#heedMappings()
    const leaseUntil = clock.now() + this.#leaseMs
    const uncertain = !destination.idempotent
    const common = { rowsPerLane, leaseMs: this.#leaseMs, uncertain, leavesSubmissions: kind.leavesSubmission === true }
    const waiting = this.#isTimeToLook() ? await claimLanes(db, destination.name, { ...common, lanes, unmapped: true }) : []
    const room = lanes - waiting.length
    const others = room > 0 ? await this.orPutBack(waiting, claimLanes(db, destination.name, { ...common, lanes: room })) : []
    const claimed = [...waiting, ...others]
    if (claimed.length > 0) gate.begin(written)
    return { lanes: claimed, leaseUntil }
  }

  #isTimeToLook(): boolean {
    const { clock, destination } = this.parts
    if (destination.mapping !== 'lookup' || clock.steady() < this.#lookAt) return false
    this.#lookAt = clock.steady() + this.#lookAgainMs
    return true
  }

  async #heedMappings(): Promise<void> {
    const { db, clock, destination, stopping } = this.parts
    if (clock.steady() < this.#heedAt) return
    this.#heedAt = clock.steady() + HEED_MS
    const isNeeded = destination.mapping !== 'none'
    let after = await releaseMappedLanes(db, destination.name, null, HEED_LANES, isNeeded)
    while (after !== null && !stopping.aborted) after = await releaseMappedLanes(db, destination.name, after, HEED_LANES, isNeeded)
  }

  limits(leaseUntil: number): Limits {
    const { stopping, over } = this.parts
    return { stopping, over, until: leaseUntil - this.#rowMs }
  }

  /** Writes down what became of a lane; one of which nothing was tried is given back. */
  async settle(result: LaneResult, leaseUntil: number): Promise<void> {
    if (result.rows.length === 0) await this.putBack([result.lane])
    else await this.parts.settler.add(result, leaseUntil)
  }

  /** @returns what `claiming` gives. @throws what it throws, when the lanes that were claimed before it are given back. */
  async orPutBack<T>(lanes: readonly ClaimedLane[], claiming: Promise<T>): Promise<T> {
    try {
      return await claiming
    } catch (error) {
      await this.putBack(lanes)
      throw error
    }
  }

  /** Gives lanes back untried. Their leases end by themselves if that cannot be done. */
  async putBack(lanes: readonly ClaimedLane[]): Promise<void> {
    const { db, log, destination } = this.parts
    // A mark from before the claim stays: nobody has found out yet.
    const doubtful = lanes.filter((lane) => lane.rows.some((row) => row.uncertain))
    const clear = lanes.filter((lane) => !doubtful.includes(lane))
    try {
      if (clear.length > 0) await releaseLanes(db, clear, { clearUncertain: !destination.idempotent })
      if (doubtful.length > 0) await releaseLanes(db, doubtful, { clearUncertain: false })
    } catch (error) {
      log.warn({ destination: destination.name, err: error }, `lanes could not be given back: ${messageOf(error)}`)
    }
  }
}
