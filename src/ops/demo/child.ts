import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Host } from '../../base/host.ts'

/** This program, started once more: the demo's sandbox and its serve. */
export interface Child {
  /** Hears every line from now on, of both streams. */
  onLine(hear: (line: string) => void): void
  /** @returns what `read` made of the first line that it made something of. @throws Error when the child ends before. */
  first<T>(read: (line: string) => T | undefined): Promise<T>
  /** Rejects when the child ends before it was stopped. */
  readonly died: Promise<never>
  /** Asks it to end and waits for that. @returns its exit code. */
  stop(): Promise<number | null>
  /** Waits for it to end by itself, as a command does. @returns its exit code. */
  finish(): Promise<number | null>
}

/** What a child needs of the environment; none of our settings, which would steer it elsewhere. */
const KEPT = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'TZ', 'LANG', 'SystemRoot']
const LINES_KEPT = 20

/**
 * @param settings the child's settings, in its environment.
 * @param logFile what it writes is kept there.
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
  // Nobody may be waiting just then.
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
  /** The last lines, for when it ends unexpectedly. */
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
