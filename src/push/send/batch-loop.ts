import { firstOf, type TimeLimit } from '../../base/time-limit.ts'
import type { ClaimedLane } from '../../store/outbox/work.ts'
import type { Batching } from '../contract/delivery.ts'
import { type Claim, type LaneClaims, SWEEP_MS } from './lane-claims.ts'

/** Lanes, and rows of a lane, that one claim takes: as many as keep a transaction on SQLite under 20 ms. */
const LANES = 32
const ROWS_PER_LANE = 16
/** Most items of a batch, whatever the kind would take: all of it is in memory. */
const MOST_ITEMS = 10_000
/** Claims of a batch that reached the limit of bytes. */
const MOST_FULL_CLAIMS = 8

const NO_TIME: TimeLimit = { leftMs: () => 0 }

type Batch = Extract<Batching, { type: 'many' }>

/** Sends rows of any lanes together, one batch at a time. */
export class BatchLoop {
  readonly #claims: LaneClaims
  readonly #maxItems: number
  readonly #gatherMs: number
  readonly #hasGroups: boolean
  /** Most lanes of a group that go together now, where a batch of it was refused as a whole. */
  readonly #sizes = new Map<string, number>()

  constructor(claims: LaneClaims, batch: Batch) {
    this.#claims = claims
    this.#maxItems = Math.min(MOST_ITEMS, batch.maxItems)
    this.#gatherMs = batch.gatherMs
    this.#hasGroups = batch.groupOf !== undefined
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
    let [isOpen, hasMoved] = [true, false]
    for (const [group, together] of this.#claims.context.rowSender.grouped(lanes)) {
      const sent = isOpen ? await this.#sendGroup(group, together, lease) : { left: together, isOpen, hasMoved: false }
      if (sent.left.length > 0) await this.#claims.release(sent.left)
      isOpen = sent.isOpen
      hasMoved ||= sent.hasMoved
    }
    return isCut && hasMoved
  }

  /**
   * Sends the lanes of a group, in as many batches as it needs now. The results of a batch are stored before the next one.
   * @returns lanes that are still claimed, whether the destination may be sent more, and whether anything came of it.
   */
  async #sendGroup(group: string, lanes: readonly ClaimedLane[], lease: TimeLimit) {
    let left = lanes
    let hasMoved = false
    while (left.length > 0) {
      const size = this.#sizes.get(group) ?? this.#maxItems
      const together = left.slice(0, size)
      const sent = await this.#claims.context.rowSender.sendTogether(together, this.#claims.limits(lease))
      if (sent === null) return { left, isOpen: false, hasMoved }
      left = left.slice(size)
      await this.#claims.settle(sent.results, lease)
      const isSettled = sent.results.some(({ rows }) => rows.some(({ state }) => state !== 'ready'))
      hasMoved ||= isSettled || sent.isSplit
      // Half as many until it is known whose fault it is, and twice as many with each batch that is answered change by change.
      if (sent.isSplit) this.#sizes.set(group, Math.max(1, Math.floor(together.length / 2)))
      else if (isSettled) this.#sizes.set(group, Math.min(this.#maxItems, size * 2))
      if (sent.isSplit || !isSettled) break
    }
    return { left, isOpen: true, hasMoved }
  }

  /**
   * @returns the lanes of one batch, and the earliest end of their leases.
   * @throws what the database throws; nothing stays claimed then.
   */
  async #gather(): Promise<Claim & { readonly isCut: boolean }> {
    const { gate, destination } = this.#claims.context
    const rowsPerLane = destination.idempotent && !this.#hasGroups ? ROWS_PER_LANE : 1
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
