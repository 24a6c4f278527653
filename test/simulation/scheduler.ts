import type { Prng } from '../../src/sandbox/world/prng.ts'
import { real } from './globals.ts'

/** Owner of pending events. Events of a dead owner never happen: a crash. */
export interface Owner {
  readonly name: string
  alive: boolean
  readonly resources: Set<{ readonly open: boolean; close(): void }>
}

interface Event {
  readonly at: number
  readonly what: string
  readonly owner: Owner
  readonly action: () => void
}

/** The world outside the product, which never dies. */
export const world: Owner = { name: 'world', alive: true, resources: new Set() }

export const START_MS = Date.UTC(2026, 0, 5, 12)
/** Above any seed's number of events: the product spins. */
const MAX_EVENTS = 2_000_000

/**
 * Virtual time. Everything that waits for time, the network or the database is an event. Time jumps to the next event; all microtasks run
 * in between. The seed picks among events of the same time.
 */
export class Scheduler {
  readonly prng: Prng
  current: Owner = world
  /** The product's wall clock minus the true time. */
  clockOffsetMs = 0
  /** Kinds of database steps so far. */
  readonly steps = new Set<string>()
  /** Called instead of the next step of a kind. */
  breakpoint: { readonly step: string; readonly hit: () => void } | null = null
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

  get now(): number {
    return this.#now
  }

  get trueMs(): number {
    return START_MS + this.#now
  }

  get wallMs(): number {
    return Math.floor(START_MS + this.#now + this.clockOffsetMs)
  }

  get events(): number {
    return this.#ran
  }

  /** Equal for equal runs. */
  get hash(): string {
    return this.#hash.toString(16).padStart(8, '0')
  }

  /** Calls `action` after `ms` unless its owner is dead. @returns a function that cancels it. */
  after(ms: number, what: string, action: () => void, owner: Owner = this.current): () => void {
    if (!owner.alive) return () => {}
    const event = { at: this.#now + Math.max(0, ms), what, owner, action }
    this.#events.push(event)
    return () => {
      const position = this.#events.indexOf(event)
      if (position >= 0) this.#events.splice(position, 1)
    }
  }

  pause(maxMs: number, what: string): Promise<void> {
    this.steps.add(what)
    return new Promise((resolve) => {
      this.after(this.prng.next() * maxMs, what, resolve)
    })
  }

  kill(owner: Owner): void {
    owner.alive = false
    this.#events = this.#events.filter((event) => event.owner !== owner)
    for (const resource of owner.resources) if (resource.open) resource.close()
    owner.resources.clear()
  }

  note(what: string): void {
    const line = `${this.#now.toFixed(3)} ${what}`
    for (let at = 0; at < line.length; at++) this.#hash = Math.imul(this.#hash ^ line.charCodeAt(at), 0x01000193) >>> 0
    this.#trace?.(line)
  }

  /** Runs events until `isDone`, or until `untilMs`. @throws Error if no event is left, or the product spins. */
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

function turn(): Promise<void> {
  return new Promise((resolve) => {
    real.setImmediate(resolve)
  })
}
