import type { ClaimedLane } from '../../store/outbox/work.ts'
import type { DeliveryKind } from '../contract/delivery.ts'
import { type Claim, type LaneClaims, SWEEP_MS } from './lane-claims.ts'

/** Lanes and rows of a lane that are claimed at a time, as many as keep a transaction on SQLite under its 20 ms. */
const LANES = 32
const ROWS_PER_LANE = 16
/** Sent together at most, whatever the kind would take: all of it is in memory. */
const MOST_ITEMS = 10_000
/** Claims of large rows that are sent together: each has as many bytes as one may have. */
const MOST_FULL_CLAIMS = 8

type Batch = Extract<DeliveryKind['batch'], { type: 'many' }>

/** Sends what has gathered in any lanes together, one batch at a time. */
export class BatchLoop {
  readonly #sending: LaneClaims
  readonly #maxItems: number
  readonly #gatherMs: number

  constructor(sending: LaneClaims, batch: Batch) {
    this.#sending = sending
    this.#maxItems = Math.min(MOST_ITEMS, batch.maxItems)
    this.#gatherMs = batch.gatherMs
  }

  /** Batches settle as one already. */
  readonly isBusy = false

  ring(): void {
    this.#sending.parts.wakeUp.notify()
  }

  /** Sends until it is to stop, and ends what is under way. @throws what the store throws when lanes are claimed. */
  async run(): Promise<void> {
    const { wakeUp, clock, gate, stopping } = this.#sending.parts
    while (!stopping.aborted) {
      if (this.#gatherMs > 0) await clock.sleep(this.#gatherMs, stopping)
      await gate.refresh(false)
      while (!stopping.aborted && gate.deadMs === 0 && (await this.#sendBatch())) {
        // As long as there is more that has gathered. What comes meanwhile gathers anew: else a slow target would get it in crumbs.
      }
      await wakeUp.wait(gate.deadMs > 0 ? Math.min(gate.deadMs, SWEEP_MS) : SWEEP_MS, stopping)
    }
  }

  /** @returns whether there may be more that has gathered. */
  async #sendBatch(): Promise<boolean> {
    const { lanes, leaseUntil, isCut } = await this.#gather()
    if (lanes.length === 0) return false
    const { rowSender: courier } = this.#sending.parts
    const results = await courier.sendTogether(lanes, this.#sending.limits(leaseUntil))
    if (results === null) await this.#sending.putBack(lanes)
    else await Promise.all(results.map((result) => this.#sending.settle(result, leaseUntil)))
    return isCut && (results?.every(({ next }) => next.type === 'due' && next.inMs === 0) ?? false)
  }

  /** @returns what is sent together, with the lease that ends first. @throws what the store throws; nothing is claimed then. */
  async #gather(): Promise<Claim & { readonly isCut: boolean }> {
    const { gate, destination } = this.#sending.parts
    const rowsPerLane = destination.idempotent ? ROWS_PER_LANE : 1
    const gathered: ClaimedLane[] = []
    let firstEnd = Number.POSITIVE_INFINITY
    let fullClaims = 0
    let room = gate.probing ? 1 : this.#maxItems
    while (room > 0) {
      const asked = Math.min(LANES, room)
      const { lanes, leaseUntil } = await this.#sending.orPutBack(gathered, this.#sending.claim(asked, Math.min(rowsPerLane, room)))
      const { taken, left } = within(lanes, room)
      if (left.length > 0) await this.#sending.putBack(left)
      gathered.push(...taken)
      firstEnd = Math.min(firstEnd, leaseUntil)
      room -= taken.reduce((rows, lane) => rows + lane.rows.length, 0)
      const isFull = lanes.some((lane) => lane.isFull)
      if (isFull) fullClaims += 1
      if (fullClaims === MOST_FULL_CLAIMS || (lanes.length < asked && !isFull)) break
    }
    const isCut = room === 0 || fullClaims > 0 || gathered.some((lane) => lane.rows.length === rowsPerLane)
    return { lanes: gathered, leaseUntil: firstEnd, isCut }
  }
}

/** As many lanes as have no more than `room` rows together; the last one may be cut short. */
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
