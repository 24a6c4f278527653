import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

const TESTS = join(import.meta.dirname, '..')

/** A process of our own that a test talks with, a line at a time. */
export interface Child {
  readonly process: ChildProcess
  /** Resolves with the next line that starts with `prefix`, without it. @throws Error with all that it said when it ends before. */
  says(prefix: string): Promise<string>
  /** Sends it a line. */
  tell(line: string): void
  /** Kills it as the system would, and waits until it is gone. */
  kill(): Promise<void>
  /** Waits until it ends by itself. @returns its exit code. */
  ended(): Promise<number | null>
}

/**
 * Starts a file with the node that runs the tests.
 * @param file relative to `test/`, or absolute.
 * @param shell what a shell does first, such as setting a limit.
 */
export function startChild(file: string, args: readonly string[], shell?: string): Child {
  const path = resolve(TESTS, file)
  const command = [process.execPath, path, ...args]
  const child = shell
    ? spawn('/bin/sh', ['-c', `${shell}; exec "$@"`, 'sh', ...command], { stdio: ['pipe', 'pipe', 'pipe'] })
    : spawn(process.execPath, command.slice(1), { stdio: ['pipe', 'pipe', 'pipe'] })
  const said: string[] = []
  let read = 0
  let over = false
  let heard = () => {}
  const hear = (line: string) => {
    said.push(line)
    heard()
  }
  createInterface({ input: child.stdout }).on('line', hear)
  createInterface({ input: child.stderr }).on('line', hear)
  const closed = once(child, 'close').then(() => {
    over = true
    heard()
  })
  // A line that comes too late for it: that it is gone is told to whoever waits for it.
  child.stdin.on('error', () => {})
  return {
    process: child,
    async says(prefix) {
      for (;;) {
        while (read < said.length) {
          const line = said[read++] as string
          if (line.startsWith(prefix)) return line.slice(prefix.length).trim()
        }
        if (over) throw new Error(`${file} ended without saying "${prefix}":\n${said.join('\n')}`)
        await new Promise<void>((resolve) => {
          heard = resolve
        })
      }
    },
    tell(line) {
      child.stdin.write(`${line}\n`)
    },
    async kill() {
      child.kill('SIGKILL')
      await closed
    },
    async ended() {
      await closed
      return child.exitCode
    },
  }
}
