import type { TimeLimit } from '../../base/time-limit.ts'
import type { ClaimedStream } from '../../store/outbox/work.ts'
import { type StreamClaims, SWEEP_MS } from './stream-claims.ts'

const ROWS_PER_STREAM = 16
/**
 * If duplicates are harmless, streams are claimed ahead. Both numbers are multiples of the destination's
 * `concurrency`. If at most `ENOUGH` times `concurrency` streams are claimed, more are claimed, up to `CLAIMED_AHEAD`
 * times `concurrency`.
 */
const CLAIMED_AHEAD = 4
const ENOUGH = 2
/**
 * With a rate limit, this is the number of seconds for which streams are claimed ahead. Leases of more streams could
 * end while the streams wait for the rate limit.
 */
const CLAIM_SECONDS = 5

interface QueuedStream {
  readonly stream: ClaimedStream
  readonly lease: TimeLimit
  /** Number of notifications before the stream was claimed. */
  readonly notifications: number
  readonly hasTurn: boolean
}

/**
 * Sends several streams at the same time. If duplicates are harmless, claims streams ahead, so that sending doesn't
 * wait for the database. If duplicates are harmful, claims one row per stream and sends the row immediately.
 */
export class StreamLoop {
  readonly #claims: StreamClaims
  readonly #claimsAhead: boolean
  readonly #rowsPerStream: number
  /** Claimed streams that haven't started. */
  readonly #queue: QueuedStream[] = []
  #running = 0
  /** Streams that are being sent or settled. */
  readonly #inFlight = new Set<Promise<void>>()
  /** Whether the last claim took all due streams, and no notification arrived since. */
  #isDrained = false
  #notifications = 0
  #failure: unknown

  constructor(claims: StreamClaims) {
    this.#claims = claims
    this.#claimsAhead = claims.context.destination.idempotent
    this.#rowsPerStream = this.#claimsAhead ? ROWS_PER_STREAM : 1
  }

  /**
   * Whether more than half of the allowed streams are in flight. The results of several streams are then stored
   * together after a short wait. Always false if duplicates are harmful.
   */
  get isBusy(): boolean {
    return this.#claimsAhead && this.#running * 2 > this.#claims.context.destination.concurrency
  }

  notify(): void {
    this.#notifications += 1
    this.#look()
  }

  /**
   * Sends until `stopping` aborts, then finishes streams in flight.
   * @throws database errors of claims.
   */
  async run(): Promise<void> {
    const { stopping } = this.#claims.context
    try {
      while (!stopping.aborted && this.#failure === undefined) await this.#step()
    } finally {
      await this.#claims.release(this.#queue.splice(0).map(({ stream }) => stream))
      while (this.#inFlight.size > 0) await Promise.all(this.#inFlight)
    }
    if (this.#failure !== undefined) throw this.#failure
  }

  async #step(): Promise<void> {
    const { wakeUp, gate, stopping } = this.#claims.context
    await gate.refresh(this.#queue.length + this.#running > 0)
    const { circuitWaitMs } = gate
    const room = circuitWaitMs > 0 || this.#isDrained ? 0 : this.#room()
    if (room > 0) await this.#claim(room)
    else if (!(await wakeUp.wait(circuitWaitMs > 0 ? Math.min(circuitWaitMs, SWEEP_MS) : SWEEP_MS, stopping))) this.#isDrained = false
  }

  #room(): number {
    const { gate, destination } = this.#claims.context
    const { concurrency } = destination
    const claimed = this.#queue.length + this.#running
    if (gate.isProbing) return claimed === 0 ? 1 : 0
    const { rate } = gate
    if (rate !== null && !this.#claimsAhead) return claimed < concurrency ? 1 : 0
    const most = this.#claimsAhead ? concurrency * CLAIMED_AHEAD : concurrency
    if (rate !== null) return Math.min(most, Math.max(1, Math.floor(rate * CLAIM_SECONDS))) - claimed
    return claimed > concurrency * (this.#claimsAhead ? ENOUGH : 1) ? 0 : most - claimed
  }

  async #claim(room: number): Promise<void> {
    const { gate, stopping } = this.#claims.context
    // If duplicates are harmful, a claim marks its rows as possibly sent. Therefore, wait for the rate limit before the
    // claim.
    const hasTurn = !this.#claimsAhead && gate.rate !== null
    if (hasTurn && !(await gate.turn(stopping))) return
    const notifications = this.#notifications
    const { streams, lease } = await this.#claims.claim(room, this.#rowsPerStream).catch((error: unknown) => {
      if (hasTurn) gate.release()
      throw error
    })
    this.#isDrained = streams.length < room && notifications === this.#notifications && !streams.some(({ isFull }) => isFull)
    if (hasTurn && streams.length === 0) gate.release()
    for (const stream of streams) this.#queue.push({ stream, lease, notifications, hasTurn })
    this.#startNext()
  }

  #startNext(): void {
    const { concurrency } = this.#claims.context.destination
    while (this.#running < concurrency && !this.#claims.context.stopping.aborted) {
      const next = this.#queue.shift()
      if (next === undefined) return
      this.#running += 1
      const work = this.#send(next).catch((error: unknown) => {
        this.#failure = error
      })
      this.#inFlight.add(work)
      void work.then(() => this.#inFlight.delete(work))
    }
  }

  async #send({ stream, lease, notifications, hasTurn }: QueuedStream): Promise<void> {
    const { rowSender, wakeUp } = this.#claims.context
    const result = await rowSender.sendStream(stream, this.#claims.limits(lease), hasTurn).finally(() => {
      this.#running -= 1
      this.#startNext()
      if (!this.#isDrained && this.#room() > 0) wakeUp.notify()
    })
    await this.#claims.settle([result], lease)
    const { next, rows } = result
    if (rows.length === 0 || next.type !== 'due') return
    // The stream may have more due rows: claimed rows without an attempt, rows beyond the claim, newer rows, or
    // an unfinished row.
    const isLeft =
      rows.length < stream.rows.length ||
      stream.rows.length === this.#rowsPerStream ||
      stream.isFull ||
      notifications !== this.#notifications ||
      rows.at(-1)?.state === 'ready'
    if (next.inMs === 0 && isLeft) this.#look()
    if (next.inMs > 0 && next.inMs < SWEEP_MS) this.#lookIn(next.inMs)
  }

  #lookIn(ms: number): void {
    const { clock, stopping } = this.#claims.context
    void clock.sleep(ms, stopping).then(() => this.#look())
  }

  #look(): void {
    this.#isDrained = false
    this.#claims.context.wakeUp.notify()
  }
}
