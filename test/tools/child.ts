import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

const TESTS = join(import.meta.dirname, '..')

export interface Child {
  readonly process: ChildProcess
  /** Resolves with the rest of the next line that starts with `prefix`. @throws Error with all output if the process ends before. */
  says(prefix: string): Promise<string>
  tell(line: string): void
  kill(): Promise<void>
  ended(): Promise<number | null>
}

/**
 * Starts a file with the Node of the tests. @param file relative to `test/`, or absolute. @param shell shell commands to run first, such as
 * a limit.
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
  // Waiters are informed of its end anyway.
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
