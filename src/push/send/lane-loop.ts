import type { ClaimedLane } from '../../store/outbox/work.ts'
import { type LaneClaims, SWEEP_MS } from './lane-claims.ts'

/** Rows of a lane that are claimed and sent in a row. */
const ROWS_PER_LANE = 16
/** Lanes in hand for each that may be under way, and with how many no more are claimed. */
const HELD = 4
const ENOUGH = 2
/** With a rate, lanes are claimed for so many seconds of it, so that none waits through its lease for its turn. */
const CLAIM_SECONDS = 5

/** A claimed lane. */
interface Held {
  readonly lane: ClaimedLane
  readonly leaseUntil: number
  /** How many rings there were before it was claimed. */
  readonly rings: number
  /** Whether the turn of its first row was waited for. */
  readonly paid: boolean
}

/**
 * Sends lanes side by side, `concurrency` of them at a time. Lanes are claimed ahead, so that nothing waits for the store; except where a
 * second delivery would do harm: there a claim is one row that is sent at once.
 */
export class LaneLoop {
  readonly #sending: LaneClaims
  readonly #ahead: boolean
  readonly #rowsPerLane: number
  /** Claimed and not begun. */
  readonly #queue: Held[] = []
  #running = 0
  readonly #inHand = new Set<Promise<void>>()
  /** Nothing more was due at the last claim, and nothing has happened since. */
  #drained = false
  #rings = 0
  #failure: unknown

  constructor(sending: LaneClaims) {
    this.#sending = sending
    this.#ahead = sending.parts.destination.idempotent
    this.#rowsPerLane = this.#ahead ? ROWS_PER_LANE : 1
  }

  /** Whether a result that waits a moment will find company. */
  get isBusy(): boolean {
    return this.#ahead && this.#running * 2 > this.#sending.parts.destination.concurrency
  }

  /** Something new may be in the outbox. */
  ring(): void {
    this.#rings += 1
    this.#look()
  }

  /** Sends until it is to stop, and ends what is under way. @throws what the store throws when lanes are claimed. */
  async run(): Promise<void> {
    const { stopping } = this.#sending.parts
    try {
      while (!stopping.aborted && this.#failure === undefined) await this.#step()
    } finally {
      await this.#sending.putBack(this.#queue.splice(0).map(({ lane }) => lane))
      while (this.#inHand.size > 0) await Promise.all(this.#inHand)
    }
    if (this.#failure !== undefined) throw this.#failure
  }

  async #step(): Promise<void> {
    const { wakeUp, gate, stopping } = this.#sending.parts
    await gate.refresh(this.#queue.length + this.#running > 0)
    const { deadMs } = gate
    const room = deadMs > 0 || this.#drained ? 0 : this.#room()
    if (room > 0) await this.#claim(room)
    else if (!(await wakeUp.wait(deadMs > 0 ? Math.min(deadMs, SWEEP_MS) : SWEEP_MS, stopping))) this.#drained = false
  }

  /** How many lanes to claim now. */
  #room(): number {
    const { gate, destination } = this.#sending.parts
    const { concurrency } = destination
    const held = this.#queue.length + this.#running
    if (gate.probing) return held === 0 ? 1 : 0
    const { rate } = gate
    if (rate !== null && !this.#ahead) return held < concurrency ? 1 : 0
    const most = this.#ahead ? concurrency * HELD : concurrency
    if (rate !== null) return Math.min(most, Math.max(1, Math.floor(rate * CLAIM_SECONDS))) - held
    return held > concurrency * (this.#ahead ? ENOUGH : 1) ? 0 : most - held
  }

  async #claim(room: number): Promise<void> {
    const { gate, stopping } = this.#sending.parts
    // What is claimed there counts as begun, so its turn comes first.
    const paid = !this.#ahead && gate.rate !== null
    if (paid && !(await gate.turn(stopping))) return
    const rings = this.#rings
    const { lanes, leaseUntil } = await this.#sending.claim(room, this.#rowsPerLane)
    this.#drained = lanes.length < room && rings === this.#rings && !lanes.some(({ isFull }) => isFull)
    if (paid && lanes.length === 0) gate.release()
    for (const lane of lanes) this.#queue.push({ lane, leaseUntil, rings, paid })
    this.#startNext()
  }

  #startNext(): void {
    const { concurrency } = this.#sending.parts.destination
    while (this.#running < concurrency && !this.#sending.parts.stopping.aborted) {
      const held = this.#queue.shift()
      if (held === undefined) return
      this.#running += 1
      const work = this.#send(held).catch((error: unknown) => {
        this.#failure = error
      })
      this.#inHand.add(work)
      void work.then(() => {
        this.#inHand.delete(work)
      })
    }
  }

  async #send(held: Held): Promise<void> {
    const { rowSender: courier } = this.#sending.parts
    const { lane, leaseUntil, rings } = held
    const result = await courier.sendLane(lane, this.#sending.limits(leaseUntil), held.paid).finally(() => {
      this.#running -= 1
      this.#startNext()
      if (!this.#drained && this.#room() > 0) this.#sending.parts.wakeUp.notify()
    })
    await this.#sending.settle(result, leaseUntil)
    const { next, rows } = result
    if (rows.length === 0 || next.type !== 'due') return
    // The lane may have more: what was not come to, what did not fit its claim, or what came meanwhile and could not be claimed.
    const isLeft = rows.length < lane.rows.length || lane.rows.length === this.#rowsPerLane || lane.isFull || rings !== this.#rings
    if (next.inMs === 0 && isLeft) this.#look()
    if (next.inMs > 0 && next.inMs < SWEEP_MS) this.#lookIn(next.inMs)
  }

  #lookIn(ms: number): void {
    const { clock, stopping } = this.#sending.parts
    void clock.sleep(ms, stopping).then(() => this.#look())
  }

  #look(): void {
    this.#drained = false
    this.#sending.parts.wakeUp.notify()
  }
}
