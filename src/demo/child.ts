import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Host } from '../base/host.ts'

/** A child process that runs this program. */
export interface Child {
  /** Calls `onLine` with each line of stdout and stderr from now on. */
  onLine(onLine: (line: string) => void): void
  /**
   * Calls `read` with each line of output.
   * @returns the first result of `read` that isn't undefined.
   * @throws Error if the child exits before there is such a result.
   */
  first<T>(read: (line: string) => T | undefined): Promise<T>
  /** Rejects if the child exits before `stop` or `finish` is called. */
  readonly died: Promise<never>
  /**
   * Sends SIGTERM and waits for the child to exit.
   * @returns the exit code.
   */
  stop(): Promise<number | null>
  /**
   * Waits for the child to exit.
   * @returns the exit code.
   */
  finish(): Promise<number | null>
}

/** Environment variables that a child inherits. The program's settings aren't among them. */
const KEPT = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'TZ', 'LANG', 'SystemRoot']
const LINES_KEPT = 20

/**
 * Starts this program as a child process.
 * @param settings environment variables for the child.
 * @param logFile file for the child's output.
 */
export function startChild(
  host: Host,
  name: string,
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  logFile: string,
): Child {
  const [command, ...before] = host.self
  const kept = KEPT.flatMap((key): [string, string][] => {
    const value = host.env[key]
    return value === undefined ? [] : [[key, value]]
  })
  const child = spawn(command, [...before, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...Object.fromEntries(kept), ...settings },
  })
  const output = readLines(child, logFile)
  const ended = Promise.withResolvers<number | null>()
  child.on('close', (code) => ended.resolve(code))
  child.on('error', (error) => ended.reject(error))
  let stopping = false
  const died = new Promise<never>((_, reject) => {
    const end = (code: number | null) => {
      if (!stopping) reject(new Error(`${name} ended unexpectedly (exit code ${code}):\n${output.last.join('\n')}`))
    }
    ended.promise.then(end, reject)
  })
  // Without a handler, Node would end this process if `died` rejects while nothing waits for it.
  died.catch(() => undefined)
  return {
    died,
    onLine: (onLine) => output.listeners.add(onLine),
    first: (read) => Promise.race([firstLine(output, read), died]),
    async stop() {
      stopping = true
      if (child.exitCode === null) child.kill('SIGTERM')
      return await ended.promise
    },
    async finish() {
      stopping = true
      return await ended.promise
    },
  }
}

interface ChildOutput {
  readonly listeners: Set<(line: string) => void>
  readonly last: string[]
}

function readLines(child: ChildProcess, logFile: string): ChildOutput {
  const output: ChildOutput = { listeners: new Set(), last: [] }
  const log = createWriteStream(logFile)
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue
    createInterface({ input: stream }).on('line', (line) => {
      log.write(`${line}\n`)
      output.last.push(line)
      if (output.last.length > LINES_KEPT) output.last.shift()
      for (const onLine of output.listeners) onLine(line)
    })
  }
  child.on('close', () => log.end())
  return output
}

function firstLine<T>({ listeners, last }: ChildOutput, read: (line: string) => T | undefined): Promise<T> {
  return new Promise((resolve) => {
    const onLine = (line: string) => {
      const value = read(line)
      if (value === undefined) return
      listeners.delete(onLine)
      resolve(value)
    }
    listeners.add(onLine)
    for (const line of [...last]) if (listeners.has(onLine)) onLine(line)
  })
}
