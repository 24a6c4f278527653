import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { type Child, startChild } from '../tools/child.ts'
import { programPath } from '../tools/program.ts'
import { Composition } from './composition.ts'
import type { CrashPlace } from './place.ts'
import { OwnSockets } from './sockets.ts'

/** One life of the product, from its start to its end. */
export interface Product {
  /** From the very moment on, though what is left of it may not be gone yet. */
  readonly isKilled: boolean
  /** Gives it an order; see composition.ts. */
  tell(order: string): void
  /** Kills it from outside. */
  kill(): void
  /** Waits until nothing of it is left. @returns its exit code; null when it was killed. */
  ended(): Promise<number | null>
}

/** Begins one life after the other. */
export interface Products {
  /** @param hear is given each line that it says. */
  next(hear: (line: string) => void): Product
  close(): Promise<void>
}

/** Each in a process of its own, which the system kills. */
export async function processes(): Promise<Products> {
  const program = programPath('crash-child')
  // Loaded and waiting for its orders, so that nobody waits for it.
  let spare = startChild(program, [])
  return {
    next(hear) {
      const child = spare
      spare = startChild(program, [])
      createInterface({ input: child.process.stdout as Readable }).on('line', hear)
      return ofProcess(child)
    },
    close: () => spare.kill(),
  }
}

function ofProcess(child: Child): Product {
  const { process } = child
  return {
    get isKilled() {
      return process.signalCode !== null
    },
    tell: (order) => child.tell(order),
    kill: () => void process.kill('SIGKILL'),
    ended: () => child.ended(),
  }
}

/**
 * Each in this process. When it is killed, what the database holds is kept, its connections are cut, and no transaction of it commits any more;
 * then it is closed, which can change nothing.
 */
export function inThisProcess(place: CrashPlace): Products {
  return {
    next(hear) {
      const sockets = new OwnSockets()
      const end = Promise.withResolvers<number | null>()
      let isKilled = false
      const composition = new Composition({
        say: (line) => OwnSockets.outside(() => hear(line)),
        kill() {
          isKilled = true
          place.keep()
          sockets.cut()
          closeWith(null)
        },
        setDiskFull() {
          throw new Error('a disk is full for a whole process')
        },
        exit: (code) => closeWith(code),
      })
      // What it tries at its end is its own, too.
      const closeWith = (code: number | null) =>
        sockets.during(() => setImmediate(() => void composition.close().then(() => end.resolve(code), end.reject)))
      return {
        get isKilled() {
          return isKilled
        },
        tell: (order) => sockets.during(() => composition.obey(order)),
        kill: () => composition.kill(),
        ended: () => end.promise,
      }
    },
    close: async () => {},
  }
}
