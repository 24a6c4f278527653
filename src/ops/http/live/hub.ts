import { randomUUID } from 'node:crypto'
import { messageOf } from '../../../base/errors.ts'
import type { Log } from '../../../base/log.ts'
import { WakeUp } from '../../../base/wakeup.ts'
import type { Db } from '../../../store/engine/db.ts'
import type { VerdictConfig } from '../../status/status.ts'
import { frameOf, HEARTBEAT, type LiveEvent } from './events.ts'
import { NewsSource } from './source.ts'

/** Listeners of one process. */
export const MOST_LISTENERS = 50
/** Events that are kept for whoever comes back. */
const KEPT = 1_000
/** Looks are at least so far apart, however much happens. */
const PACE_MS = 500
/** Without a signal it looks this often. */
const LOOK_MS = 2_000
const HEARTBEAT_MS = 15_000
/** After the last listener has left, events are kept for so long for it to come back. */
const LINGER_MS = 60_000
/** A listener with so much unread does not read. */
const MOST_UNREAD_BYTES = 256 * 1024

/** Where a listener's events are written to: the response. */
export interface Sink {
  /** Begins the response. @returns false when the listener has left meanwhile. */
  begin(): boolean
  write(text: string): void
  /** Bytes that were written and have not left the process. */
  readonly writableLength: number
  end(): void
  destroy(): void
}

interface Listener {
  readonly sink: Sink
  /** Whether the token or session of the listener is still one. */
  readonly mayListen: () => Promise<boolean>
  /** Whether its response has begun; until then it only takes a place. */
  hasBegun: boolean
}

export interface HubOptions {
  readonly db: Db
  readonly config: () => VerdictConfig
  readonly log: Log
  /** Aborts when the process stops. */
  readonly signal: AbortSignal
}

/**
 * Tells all listeners of a process what happens. It looks for that itself, once for all of them, at the signals of the store; while nobody
 * listens it looks at nothing. Ids of events hold within one run of it: to any other it answers that events are missing.
 */
export class LiveHub {
  readonly #o: HubOptions
  readonly #listeners = new Set<Listener>()
  readonly #kept: { readonly no: number; readonly frame: string }[] = []
  readonly #wakeUp: WakeUp
  #epoch = ''
  #no = 0
  #running: Promise<void> | null = null
  #leftAt = 0
  #ready: Promise<void> = Promise.resolve()

  constructor(options: HubOptions) {
    this.#o = options
    this.#wakeUp = new WakeUp(options.db.clock)
    options.signal.addEventListener('abort', () => this.#endAll(), { once: true })
  }

  get isFull(): boolean {
    return this.#listeners.size >= MOST_LISTENERS
  }

  get size(): number {
    return this.#listeners.size
  }

  /**
   * Adds a listener, and tells it what it missed, or that this cannot be told.
   * @param lastId of the last event that it saw; null when it comes for the first time.
   * @returns a function for when it has left; null when there are too many.
   * @throws what the database throws.
   */
  async listen(sink: Sink, mayListen: () => Promise<boolean>, lastId: string | null): Promise<(() => void) | null> {
    if (this.isFull || this.#o.signal.aborted) return null
    const listener: Listener = { sink, mayListen, hasBegun: false }
    // Before anything is awaited: it counts from here on.
    this.#listeners.add(listener)
    try {
      await this.#start()
    } catch (error) {
      this.#leave(listener)
      throw error
    }
    // From here on nothing is awaited: no event comes between what it missed and what it is sent.
    listener.hasBegun = this.#listeners.has(listener) && sink.begin()
    if (listener.hasBegun) sink.write(`retry: 3000\n${this.#missedBy(lastId)}`)
    else this.#leave(listener)
    return () => this.#leave(listener)
  }

  /** Tells all listeners. */
  publish(events: readonly LiveEvent[]): void {
    const frames = events.map((event) => {
      this.#no += 1
      const frame = frameOf(event, this.#idNow())
      this.#kept.push({ no: this.#no, frame })
      return frame
    })
    this.#kept.splice(0, Math.max(0, this.#kept.length - KEPT))
    if (frames.length > 0) this.#send(frames.join(''))
  }

  /** Ends the lines of whoever may not listen any more. */
  async check(): Promise<void> {
    for (const listener of [...this.#listeners]) {
      // While the database is away nobody can be judged.
      const may = await listener.mayListen().catch(() => true)
      if (!may) this.#drop(listener, 'end')
    }
  }

  #idNow(): string {
    return `${this.#epoch}-${this.#no}`
  }

  /** What came behind an id, or that it is not known. */
  #missedBy(lastId: string | null): string {
    if (lastId === null) return frameOf({ kind: 'ready', data: {} }, this.#idNow())
    const [epoch, no] = [lastId.slice(0, lastId.lastIndexOf('-')), Number(lastId.slice(lastId.lastIndexOf('-') + 1))]
    const first = this.#kept[0]?.no ?? this.#no + 1
    if (epoch !== this.#epoch || !Number.isInteger(no) || no > this.#no || no < first - 1) {
      return frameOf({ kind: 'reset', data: { reason: 'what came behind that id is not known any more' } }, this.#idNow())
    }
    const missed = this.#kept.filter((kept) => kept.no > no).map(({ frame }) => frame)
    return missed.length > 0 ? missed.join('') : frameOf({ kind: 'ready', data: {} }, this.#idNow())
  }

  /** Begins to look, unless it does already. Resolves when ids hold. */
  async #start(): Promise<void> {
    if (this.#running === null) {
      const opened = Promise.withResolvers<void>()
      this.#ready = opened.promise
      this.#running = this.#run(opened).finally(() => {
        this.#running = null
      })
    }
    await this.#ready
  }

  async #run(opened: PromiseWithResolvers<void>): Promise<void> {
    const { db, config, log, signal } = this.#o
    let source: NewsSource
    try {
      source = await NewsSource.open(db, config)
    } catch (error) {
      opened.reject(error)
      return
    }
    this.#epoch = randomUUID()
    this.#no = 0
    this.#kept.length = 0
    opened.resolve()
    const unsubscribe = db.signals.subscribe(() => this.#wakeUp.notify())
    try {
      await this.#follow(source, signal)
    } catch (error) {
      log.error({ err: error }, `live events have ended: ${messageOf(error)}`)
      this.#endAll()
    } finally {
      unsubscribe()
    }
  }

  async #follow(source: NewsSource, signal: AbortSignal): Promise<void> {
    const { db, log } = this.#o
    const { clock } = db
    let beatAt = clock.steady()
    this.#leftAt = clock.steady()
    while (!signal.aborted && (this.#listeners.size > 0 || clock.steady() - this.#leftAt < LINGER_MS)) {
      await source
        .look((events) => this.publish(events))
        .catch((error: unknown) => log.debug({ err: error }, `live events wait for the database: ${messageOf(error)}`))
      if (clock.steady() - beatAt >= HEARTBEAT_MS) {
        beatAt = clock.steady()
        await this.check()
        this.#send(HEARTBEAT)
      }
      await clock.sleep(PACE_MS, signal)
      await this.#wakeUp.wait(LOOK_MS - PACE_MS, signal)
    }
  }

  #send(text: string): void {
    for (const listener of [...this.#listeners].filter(({ hasBegun }) => hasBegun)) {
      if (listener.sink.writableLength > MOST_UNREAD_BYTES) this.#drop(listener, 'destroy')
      else listener.sink.write(text)
    }
  }

  #drop(listener: Listener, how: 'end' | 'destroy'): void {
    this.#leave(listener)
    if (listener.hasBegun) listener.sink[how]()
  }

  #leave(listener: Listener): void {
    if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#leftAt = this.#o.db.clock.steady()
  }

  #endAll(): void {
    for (const listener of [...this.#listeners]) this.#drop(listener, 'end')
  }
}
