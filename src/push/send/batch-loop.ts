import { firstOf, type TimeLimit } from '../../base/time-limit.ts'
import type { ClaimedStream } from '../../store/outbox/work.ts'
import type { Batching } from '../contract/delivery.ts'
import { type Claim, type StreamClaims, SWEEP_MS } from './stream-claims.ts'

/**
 * Maximum streams per claim, and maximum rows per stream in a claim. These limits keep SQLite transactions under 20 ms.
 */
const STREAMS = 32
const ROWS_PER_STREAM = 16
/** Maximum items per batch. All items of a batch are in memory at the same time. */
const MOST_ITEMS = 10_000
/** A batch stops claiming after this many full claims. A claim is full if its limit in bytes left out rows. */
const MOST_FULL_CLAIMS = 8

const NO_TIME: TimeLimit = { leftMs: () => 0 }

type Batch = Extract<Batching, { type: 'many' }>

/** Sends rows of many streams together, one batch at a time. */
export class BatchLoop {
  readonly #claims: StreamClaims
  readonly #maxItems: number
  readonly #gatherMs: number
  readonly #hasGroups: boolean
  /** By group: maximum streams in the next batch. A rejected batch lowers this number. */
  readonly #sizes = new Map<string, number>()

  constructor(claims: StreamClaims, batch: Batch) {
    this.#claims = claims
    this.#maxItems = Math.min(MOST_ITEMS, batch.maxItems)
    this.#gatherMs = batch.gatherMs
    this.#hasGroups = batch.groupOf !== undefined
  }

  /** If true, results would wait for other results. Always false: the results of a batch are stored together anyway. */
  readonly isBusy = false

  notify(): void {
    this.#claims.context.wakeUp.notify()
  }

  /**
   * Sends until `stopping` aborts, then finishes the batch in flight.
   * @throws database errors of claims.
   */
  async run(): Promise<void> {
    const { wakeUp, clock, gate, stopping } = this.#claims.context
    while (!stopping.aborted) {
      if (this.#gatherMs > 0) await clock.sleep(this.#gatherMs, stopping)
      await gate.refresh(false)
      while (!stopping.aborted && gate.circuitWaitMs === 0 && (await this.#sendBatch())) {
        // Repeats until no more rows are due, and only then waits for `gatherMs`. Otherwise, a slow target would get
        // many small batches.
      }
      await wakeUp.wait(gate.circuitWaitMs > 0 ? Math.min(gate.circuitWaitMs, SWEEP_MS) : SWEEP_MS, stopping)
    }
  }

  /**
   * Claims streams and sends them, one group after another. Releases the streams that weren't sent.
   * @returns whether more rows may already be due.
   */
  async #sendBatch(): Promise<boolean> {
    const { streams, lease, isCut } = await this.#gather()
    if (streams.length === 0) return false
    let [isOpen, hasMoved] = [true, false]
    for (const [group, together] of this.#claims.context.rowSender.grouped(streams)) {
      const sent = isOpen ? await this.#sendGroup(group, together, lease) : { left: together, isOpen, hasMoved: false }
      if (sent.left.length > 0) await this.#claims.release(sent.left)
      isOpen = sent.isOpen
      hasMoved ||= sent.hasMoved
    }
    return isCut && hasMoved
  }

  /**
   * Sends a group's streams in batches. Stores each batch's results before the next batch. Stops early if nothing may
   * be sent, if a batch was split, or if no row was settled.
   * @returns `left`: streams that are still claimed. `isOpen`: false if nothing may be sent now. `hasMoved`: whether a
   * row was settled or a batch was split.
   */
  async #sendGroup(group: string, streams: readonly ClaimedStream[], lease: TimeLimit) {
    let left = streams
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
      // After a rejected batch, the size is halved until the rejected item is found. After a batch with settled rows,
      // the size is doubled.
      if (sent.isSplit) this.#sizes.set(group, Math.max(1, Math.floor(together.length / 2)))
      else if (isSettled) this.#sizes.set(group, Math.min(this.#maxItems, size * 2))
      if (sent.isSplit || !isSettled) break
    }
    return { left, isOpen: true, hasMoved }
  }

  /**
   * Claims the streams of one batch.
   * @returns the streams, and the earliest end of their leases. `isCut`: whether a limit was reached, so that
   * more rows may be due.
   * @throws database errors, after releasing all claims.
   */
  async #gather(): Promise<Claim & { readonly isCut: boolean }> {
    const { gate, destination } = this.#claims.context
    const rowsPerStream = destination.idempotent && !this.#hasGroups ? ROWS_PER_STREAM : 1
    const gathered: ClaimedStream[] = []
    let firstEnd: TimeLimit | null = null
    let fullClaims = 0
    let room = gate.isProbing ? 1 : this.#maxItems
    while (room > 0) {
      const limit = Math.min(STREAMS, room)
      const claim: Claim = await this.#claims.orRelease(gathered, this.#claims.claim(limit, Math.min(rowsPerStream, room)))
      const { streams } = claim
      const { taken, left } = within(streams, room)
      if (left.length > 0) await this.#claims.release(left)
      gathered.push(...taken)
      firstEnd = firstOf(firstEnd, claim.lease)
      room -= taken.reduce((rows, stream) => rows + stream.rows.length, 0)
      const isFull = streams.some((stream) => stream.isFull)
      if (isFull) fullClaims += 1
      if (fullClaims === MOST_FULL_CLAIMS || (streams.length < limit && !isFull)) break
    }
    const isCut = room === 0 || fullClaims > 0 || gathered.some((stream) => stream.rows.length === rowsPerStream)
    return { streams: gathered, lease: firstEnd ?? NO_TIME, isCut }
  }
}

/**
 * Takes streams with at most `room` rows in total. Rows of the last stream beyond `room` are left out.
 * @returns `taken`: these streams. `left`: the other streams.
 */
function within(streams: readonly ClaimedStream[], room: number): { taken: ClaimedStream[]; left: ClaimedStream[] } {
  const taken: ClaimedStream[] = []
  let free = room
  for (const stream of streams) {
    if (free === 0) break
    taken.push(stream.rows.length <= free ? stream : { ...stream, rows: stream.rows.slice(0, free) })
    free -= Math.min(free, stream.rows.length)
  }
  return { taken, left: streams.slice(taken.length) }
}
