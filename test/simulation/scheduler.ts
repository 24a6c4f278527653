import type { Prng } from '../../src/sandbox/world/prng.ts'
import { real } from './globals.ts'

/** Who waits for an event. What belongs to a dead one never happens: that is how a process crashes. */
export interface Owner {
  readonly name: string
  alive: boolean
  /** What ends with it: its connections to the database. */
  readonly resources: Set<{ readonly open: boolean; close(): void }>
}

interface Event {
  readonly at: number
  readonly what: string
  readonly owner: Owner
  readonly action: () => void
}

/** The world outside the product: it never dies. */
export const world: Owner = { name: 'world', alive: true, resources: new Set() }

/** Wall clock at the start. */
export const START_MS = Date.UTC(2026, 0, 5, 12)
/** More events than any seed needs, the slowest of which wait a day: the product spins. */
const MAX_EVENTS = 2_000_000

/**
 * Virtual time. Everything that waits, for time, the network or the database, is an event here. Time jumps to the next event; between two
 * events every microtask runs. Of events due at the same moment the seed picks one.
 */
export class Scheduler {
  readonly prng: Prng
  /** The owner of what runs now. */
  current: Owner = world
  /** How far the product's wall clock is ahead of the true time. */
  clockOffsetMs = 0
  /** Kinds of steps in the database that there have been. */
  readonly steps = new Set<string>()
  /** Called in the place of the next step of a kind. */
  breakpoint: { readonly step: string; readonly hit: () => void } | null = null
  /** Called at once after each commit. */
  onCommit: (name: string) => void = () => {}
  #now = 0
  #events: Event[] = []
  #ran = 0
  #hash = 0x811c9dc5
  readonly #trace: ((line: string) => void) | null

  constructor(prng: Prng, trace: ((line: string) => void) | null) {
    this.prng = prng
    this.#trace = trace
  }

  /** Milliseconds since the simulation began. */
  get now(): number {
    return this.#now
  }

  /** The true time, ms since the epoch. */
  get trueMs(): number {
    return START_MS + this.#now
  }

  /** The product's wall clock, ms since the epoch. */
  get wallMs(): number {
    return Math.floor(START_MS + this.#now + this.clockOffsetMs)
  }

  get events(): number {
    return this.#ran
  }

  /** Two runs that did the same have the same hash. */
  get hash(): string {
    return this.#hash.toString(16).padStart(8, '0')
  }

  /** Calls `action` after `ms`, unless its owner is dead by then. @returns a function that cancels it. */
  after(ms: number, what: string, action: () => void, owner: Owner = this.current): () => void {
    if (!owner.alive) return () => {}
    const event = { at: this.#now + Math.max(0, ms), what, owner, action }
    this.#events.push(event)
    return () => {
      const position = this.#events.indexOf(event)
      if (position >= 0) this.#events.splice(position, 1)
    }
  }

  /** A pause of up to `maxMs`, as long as the seed says. */
  pause(maxMs: number, what: string): Promise<void> {
    this.steps.add(what)
    return new Promise((resolve) => {
      this.after(this.prng.next() * maxMs, what, resolve)
    })
  }

  /** Ends a process: nothing of it goes on, and the system closes what it had open. */
  kill(owner: Owner): void {
    owner.alive = false
    this.#events = this.#events.filter((event) => event.owner !== owner)
    for (const resource of owner.resources) if (resource.open) resource.close()
    owner.resources.clear()
  }

  /** Notes something in the trace. */
  note(what: string): void {
    const line = `${this.#now.toFixed(3)} ${what}`
    for (let at = 0; at < line.length; at++) this.#hash = Math.imul(this.#hash ^ line.charCodeAt(at), 0x01000193) >>> 0
    this.#trace?.(line)
  }

  /** Runs events until `isDone`, or until `untilMs`. @throws Error when nothing is left to happen, or the product spins. */
  async run(isDone: () => boolean, untilMs: number): Promise<boolean> {
    await turn()
    while (!isDone()) {
      const event = this.#take(untilMs)
      if (event === null) {
        this.#now = untilMs
        return false
      }
      this.#now = Math.max(this.#now, event.at)
      this.current = event.owner
      this.note(`${event.owner.name} ${event.what}`)
      if (this.breakpoint?.step === event.what) this.breakpoint.hit()
      else event.action()
      await turn()
      this.current = world
      if (++this.#ran > MAX_EVENTS) throw new Error(`more than ${MAX_EVENTS} events by ${Math.round(this.#now / 1000)} s`)
    }
    return true
  }

  #take(untilMs: number): Event | null {
    let earliest = Number.POSITIVE_INFINITY
    for (const { at } of this.#events) if (at < earliest) earliest = at
    if (earliest > untilMs) return null
    const due = this.#events.filter(({ at }) => at === earliest)
    const event = due.length === 1 ? (due[0] as Event) : this.prng.pick(due)
    this.#events.splice(this.#events.indexOf(event), 1)
    return event
  }
}

/** Lets every microtask and every `process.nextTick` run. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    real.setImmediate(resolve)
  })
}
