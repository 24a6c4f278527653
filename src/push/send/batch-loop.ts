import { firstOf, type TimeLimit } from '../../base/time-limit.ts'
import type { ClaimedLane } from '../../store/outbox/work.ts'
import type { DeliveryKind } from '../contract/delivery.ts'
import { type Claim, type LaneClaims, SWEEP_MS } from './lane-claims.ts'

/** Lanes, and rows of a lane, that one claim takes: as many as keep a transaction on SQLite under 20 ms. */
const LANES = 32
const ROWS_PER_LANE = 16
/** Most items of a batch, whatever the kind would take: all of it is in memory. */
const MOST_ITEMS = 10_000
/** Claims of a batch that reached the limit of bytes. */
const MOST_FULL_CLAIMS = 8

const NO_TIME: TimeLimit = { leftMs: () => 0 }

type Batch = Extract<DeliveryKind['batch'], { type: 'many' }>

/** Sends rows of any lanes together, one batch at a time. */
export class BatchLoop {
  readonly #claims: LaneClaims
  readonly #maxItems: number
  readonly #gatherMs: number

  constructor(claims: LaneClaims, batch: Batch) {
    this.#claims = claims
    this.#maxItems = Math.min(MOST_ITEMS, batch.maxItems)
    this.#gatherMs = batch.gatherMs
  }

  /** The results of a batch are settled together already. */
  readonly isBusy = false

  /** There may be something new in the outbox. */
  notify(): void {
    this.#claims.context.wakeUp.notify()
  }

  /** Sends until `stopping` aborts, and finishes the batch in flight. @throws what the database throws when lanes are claimed. */
  async run(): Promise<void> {
    const { wakeUp, clock, gate, stopping } = this.#claims.context
    while (!stopping.aborted) {
      if (this.#gatherMs > 0) await clock.sleep(this.#gatherMs, stopping)
      await gate.refresh(false)
      while (!stopping.aborted && gate.circuitWaitMs === 0 && (await this.#sendBatch())) {
        // Only for what had gathered before. Newer rows gather again: otherwise a slow target would get many small batches.
      }
      await wakeUp.wait(gate.circuitWaitMs > 0 ? Math.min(gate.circuitWaitMs, SWEEP_MS) : SWEEP_MS, stopping)
    }
  }

  /** @returns whether there may be more that had gathered before. */
  async #sendBatch(): Promise<boolean> {
    const { lanes, lease, isCut } = await this.#gather()
    if (lanes.length === 0) return false
    const { rowSender } = this.#claims.context
    const results = await rowSender.sendTogether(lanes, this.#claims.limits(lease))
    if (results === null) await this.#claims.release(lanes)
    else await Promise.all(results.map((result) => this.#claims.settle(result, lease)))
    return isCut && (results?.every(({ next }) => next.type === 'due' && next.inMs === 0) ?? false)
  }

  /**
   * @returns the lanes of one batch, and the earliest end of their leases.
   * @throws what the database throws; nothing stays claimed then.
   */
  async #gather(): Promise<Claim & { readonly isCut: boolean }> {
    const { gate, destination } = this.#claims.context
    const rowsPerLane = destination.idempotent ? ROWS_PER_LANE : 1
    const gathered: ClaimedLane[] = []
    let firstEnd: TimeLimit | null = null
    let fullClaims = 0
    let room = gate.isProbing ? 1 : this.#maxItems
    while (room > 0) {
      const limit = Math.min(LANES, room)
      const claim: Claim = await this.#claims.orRelease(gathered, this.#claims.claim(limit, Math.min(rowsPerLane, room)))
      const { lanes } = claim
      const { taken, left } = within(lanes, room)
      if (left.length > 0) await this.#claims.release(left)
      gathered.push(...taken)
      firstEnd = firstOf(firstEnd, claim.lease)
      room -= taken.reduce((rows, lane) => rows + lane.rows.length, 0)
      const isFull = lanes.some((lane) => lane.isFull)
      if (isFull) fullClaims += 1
      if (fullClaims === MOST_FULL_CLAIMS || (lanes.length < limit && !isFull)) break
    }
    const isCut = room === 0 || fullClaims > 0 || gathered.some((lane) => lane.rows.length === rowsPerLane)
    return { lanes: gathered, lease: firstEnd ?? NO_TIME, isCut }
  }
}

/** The first lanes that have at most `room` rows together; the last one may be cut. */
function within(lanes: readonly ClaimedLane[], room: number): { taken: ClaimedLane[]; left: ClaimedLane[] } {
  const taken: ClaimedLane[] = []
  let free = room
  for (const lane of lanes) {
    if (free === 0) break
    taken.push(lane.rows.length <= free ? lane : { ...lane, rows: lane.rows.slice(0, free) })
    free -= Math.min(free, lane.rows.length)
  }
  return { taken, left: lanes.slice(taken.length) }
}
