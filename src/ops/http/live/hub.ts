import { messageOf } from '../../../base/errors.ts'
import type { Log } from '../../../base/log.ts'
import { WakeUp } from '../../../base/wakeup.ts'
import type { Db } from '../../../store/engine/db.ts'
import type { VerdictConfig } from '../../status/status.ts'
import { frameOf, HEARTBEAT, type LiveKind } from './events.ts'
import { NewsSource } from './source.ts'

/** Listeners of one process. */
export const MOST_LISTENERS = 50
/** Looks are at least so far apart, however much happens. */
const PACE_MS = 500
/** Without a signal it looks this often. */
const LOOK_MS = 2_000
const HEARTBEAT_MS = 15_000
/** A listener with so much unread does not read. */
const MOST_UNREAD_BYTES = 16 * 1024

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
 * Tells all listeners of a process of which kinds something changed. It looks for that itself, once for all of them, at the signals of the
 * store; while nobody listens it looks at nothing.
 */
export class LiveHub {
  readonly #o: HubOptions
  readonly #listeners = new Set<Listener>()
  readonly #wakeUp: WakeUp
  /** Resolves when it looks; null while it does not. */
  #looking: Promise<void> | null = null

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
   * Adds a listener. Its first event is `reset`: what changed before is not known here.
   * @returns a function for when it has left; null when there are too many.
   * @throws what the database throws.
   */
  async listen(sink: Sink, mayListen: () => Promise<boolean>): Promise<(() => void) | null> {
    if (this.isFull || this.#o.signal.aborted) return null
    const listener: Listener = { sink, mayListen, hasBegun: false }
    // Before anything is awaited: it counts from here on.
    this.#listeners.add(listener)
    try {
      await this.#look()
    } catch (error) {
      this.#leave(listener)
      throw error
    }
    listener.hasBegun = this.#listeners.has(listener) && sink.begin()
    if (listener.hasBegun) sink.write(`retry: 3000\n${frameOf('reset')}`)
    else this.#leave(listener)
    return () => this.#leave(listener)
  }

  /** Tells all listeners. */
  publish(kinds: readonly LiveKind[]): void {
    if (kinds.length > 0) this.#send(kinds.map(frameOf).join(''))
  }

  /** Ends the lines of whoever may not listen any more. */
  async check(): Promise<void> {
    for (const listener of [...this.#listeners]) {
      // While the database is away nobody can be judged.
      const may = await listener.mayListen().catch(() => true)
      if (!may) this.#drop(listener, 'end')
    }
  }

  /** Begins to look, unless it does already. Resolves when whatever changes from then on is told. */
  async #look(): Promise<void> {
    const { db, config } = this.#o
    this.#looking ??= NewsSource.open(db, config).then(
      (source) => void this.#follow(source),
      (error: unknown) => {
        this.#looking = null
        throw error
      },
    )
    await this.#looking
  }

  async #follow(source: NewsSource): Promise<void> {
    const { db, log, signal } = this.#o
    const { clock } = db
    const unsubscribe = db.signals.subscribe(() => this.#wakeUp.notify())
    let beatAt = clock.steady()
    try {
      while (!signal.aborted && this.#listeners.size > 0) {
        await source.look().then(
          (kinds) => this.publish(kinds),
          (error: unknown) => log.debug({ err: error }, `live events wait for the database: ${messageOf(error)}`),
        )
        if (clock.steady() - beatAt >= HEARTBEAT_MS) {
          beatAt = clock.steady()
          await this.check()
          this.#send(HEARTBEAT)
        }
        await clock.sleep(PACE_MS, signal)
        await this.#wakeUp.wait(LOOK_MS - PACE_MS, signal)
      }
    } catch (error) {
      log.error({ err: error }, `live events have ended: ${messageOf(error)}`)
      this.#endAll()
    } finally {
      this.#looking = null
      unsubscribe()
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
    this.#listeners.delete(listener)
  }

  #endAll(): void {
    for (const listener of [...this.#listeners]) this.#drop(listener, 'end')
  }
}
