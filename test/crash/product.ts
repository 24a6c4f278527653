import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { type Child, startChild } from '../tools/child.ts'
import { programPath } from '../tools/program.ts'
import { Composition } from './composition.ts'
import type { CrashPlace } from './place.ts'
import { OwnSockets } from './sockets.ts'

export interface Product {
  /** Set immediately, though the process may still be ending. */
  readonly isKilled: boolean
  tell(order: string): void
  kill(): void
  /** Waits until the process has ended. @returns its exit code; null if it was killed. */
  ended(): Promise<number | null>
}

export interface Products {
  /** @param hear receives each printed line. */
  next(hear: (line: string) => void): Product
  close(): Promise<void>
}

export async function processes(): Promise<Products> {
  const program = programPath('crash-child')
  // Started ahead, so that no test waits for it.
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

/** Runs products in this process. A kill copies the database, cuts the connections, and blocks all later commits. */
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
      // Its attempts to close belong to it, too.
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
