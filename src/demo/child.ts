import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Host } from '../base/host.ts'

/** Another process of this program, such as the demo's sandbox and its `serve`. */
export interface Child {
  /** Calls `hear` with every further line of both streams. */
  onLine(hear: (line: string) => void): void
  /** @returns the first result of `read` that is not undefined. @throws Error when the child ends before. */
  first<T>(read: (line: string) => T | undefined): Promise<T>
  /** Rejects when the child ends without being stopped. */
  readonly died: Promise<never>
  /** Sends SIGTERM and waits for the end. @returns its exit code. */
  stop(): Promise<number | null>
  /** Waits until it ends by itself, as a command does. @returns its exit code. */
  finish(): Promise<number | null>
}

/** Variables that a child inherits; none of our settings, which would change what it does. */
const KEPT = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'TZ', 'LANG', 'SystemRoot']
const LINES_KEPT = 20

/**
 * @param settings the child's settings, in its environment.
 * @param logFile gets its output.
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
  const heard = listen(child, logFile)
  const ended = Promise.withResolvers<number | null>()
  child.on('close', (code) => ended.resolve(code))
  child.on('error', (error) => ended.reject(error))
  let stopping = false
  const died = new Promise<never>((_, reject) => {
    const end = (code: number | null) => {
      if (!stopping) reject(new Error(`${name} ended by itself (exit code ${code}):\n${heard.last.join('\n')}`))
    }
    ended.promise.then(end, reject)
  })
  // Not unhandled when nobody waits for it.
  died.catch(() => undefined)
  return {
    died,
    onLine: (hear) => heard.hearers.add(hear),
    first: (read) => Promise.race([firstLine(heard, read), died]),
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

interface Heard {
  readonly hearers: Set<(line: string) => void>
  /** The last lines, for the error when it ends unexpectedly. */
  readonly last: string[]
}

function listen(child: ChildProcess, logFile: string): Heard {
  const heard: Heard = { hearers: new Set(), last: [] }
  const log = createWriteStream(logFile)
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue
    createInterface({ input: stream }).on('line', (line) => {
      log.write(`${line}\n`)
      heard.last.push(line)
      if (heard.last.length > LINES_KEPT) heard.last.shift()
      for (const hear of heard.hearers) hear(line)
    })
  }
  child.on('close', () => log.end())
  return heard
}

function firstLine<T>(heard: Heard, read: (line: string) => T | undefined): Promise<T> {
  return new Promise((resolve) => {
    const hear = (line: string) => {
      const value = read(line)
      if (value === undefined) return
      heard.hearers.delete(hear)
      resolve(value)
    }
    heard.hearers.add(hear)
    for (const line of [...heard.last]) if (heard.hearers.has(hear)) hear(line)
  })
}
