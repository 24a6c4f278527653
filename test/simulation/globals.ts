import { EventEmitter } from 'node:events'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import Database from 'better-sqlite3'
import type { Prng } from '../../src/sandbox/world/prng.ts'
import type { Scheduler } from './scheduler.ts'

/**
 * Replaces time, randomness and threads of this process permanently, since libraries use them too and a run must repeat exactly. Without a
 * running simulation timers are real; randomness is always seeded.
 */

const require = createRequire(import.meta.url)
const crypto = require('node:crypto') as { randomUUID: () => string; randomBytes: (size: number) => Buffer }
const timersPromises = require('node:timers/promises') as { setImmediate: () => Promise<void> }
const files = require('node:fs/promises') as Record<'open' | 'readFile' | 'rename', unknown>
const threads = require('node:worker_threads') as { Worker: unknown }
const RealDate = Date
export const real = { setTimeout, setImmediate, setInterval, clearTimeout, clearImmediate, clearInterval }

let scheduler: Scheduler | null = null
let random: Prng

export function setScheduler(next: Scheduler | null): void {
  scheduler = next
}

export function setRandom(prng: Prng): void {
  random = prng
}

class Timer {
  readonly cancel: () => void
  constructor(cancel: () => void) {
    this.cancel = cancel
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
  hasRef(): boolean {
    return true
  }
  [Symbol.dispose](): void {
    this.cancel()
  }
}

type Action = (...args: unknown[]) => void

/** A fake thread that answers at the next event, without work. */
class NoThread extends EventEmitter {
  postMessage(): void {
    const answer = () => this.emit('message', { pages: 0 })
    if (scheduler === null) real.setImmediate(answer)
    else scheduler.after(0, 'thread', answer)
  }
  ref(): void {}
  unref(): void {}
  async terminate(): Promise<number> {
    return 0
  }
}

class SimulatedDate extends RealDate {
  constructor(...parts: unknown[]) {
    if (parts.length === 0) super(SimulatedDate.now())
    else super(...(parts as [number]))
  }
  static override now(): number {
    return scheduler?.wallMs ?? RealDate.now()
  }
}

/** Call before loading the product. */
export function takeOver(prng: Prng): void {
  random = prng
  const timeout = (what: string, fallback: unknown) =>
    function setTimer(action: Action, ms = 0, ...args: unknown[]): unknown {
      if (scheduler === null) return (fallback as Action)(action, ms, ...args)
      return new Timer(scheduler.after(Math.max(ms, 1), what, () => action(...args)))
    }
  const immediate = (action: Action, ...args: unknown[]): unknown => {
    if (scheduler === null) return real.setImmediate(action, ...args)
    return new Timer(scheduler.after(0, 'immediate', () => action(...args)))
  }
  const clear = (fallback: unknown) => (timer: unknown) => {
    if (timer instanceof Timer) timer.cancel()
    else (fallback as Action)(timer)
  }
  Object.assign(globalThis, {
    Date: SimulatedDate,
    setTimeout: timeout('timer', real.setTimeout),
    setImmediate: immediate,
    clearTimeout: clear(real.clearTimeout),
    clearImmediate: clear(real.clearImmediate),
  })
  const realNow = performance.now.bind(performance)
  performance.now = () => scheduler?.now ?? realNow()
  Math.random = () => random.next()
  const uuid = () => random.uuid()
  crypto.randomUUID = uuid
  crypto.randomBytes = (size) => Buffer.from(Array.from({ length: size }, () => random.int(0, 255)))
  globalThis.crypto.randomUUID = uuid as typeof globalThis.crypto.randomUUID
  timersPromises.setImmediate = () =>
    new Promise((resolve) => {
      immediate(() => resolve())
    })
  threads.Worker = NoThread
  takeOverFiles()
  trackConnections()
  syncBuiltinESMExports()
}

/** Connections of the oracle, without a process. */
export const oracleConnections = new WeakSet<object>()

/** A connection belongs to the process that prepares statements on it. */
function trackConnections(): void {
  const { prepare } = Database.prototype
  Database.prototype.prepare = function prepareTracked(this: Database.Database, source: string) {
    if (!oracleConnections.has(this)) scheduler?.current.resources.add(this)
    return prepare.call(this, source)
  } as typeof prepare
}

/** Makes each operation on the product's small files an event. */
function takeOverFiles(): void {
  const { open, readFile, rename } = files as Record<string, (...args: readonly unknown[]) => Promise<unknown>>
  const step = async <T>(what: string, work: () => T): Promise<T> => {
    await (scheduler as Scheduler).pause(1, what)
    return work()
  }
  files.open = async (path: string, ...rest: readonly unknown[]) => {
    if (scheduler === null) return await open?.(path, ...rest)
    return {
      writeFile: (text: string) => step('file write', () => writeFileSync(path, text)),
      datasync: () => step('file sync', () => undefined),
      close: async () => undefined,
    }
  }
  files.readFile = async (path: string, ...rest: readonly unknown[]) =>
    scheduler === null ? await readFile?.(path, ...rest) : await step('file read', () => readFileSync(path, 'utf8'))
  files.rename = async (from: string, to: string) =>
    scheduler === null ? await rename?.(from, to) : await step('file rename', () => renameSync(from, to))
}
