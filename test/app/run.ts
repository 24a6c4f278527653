import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { main } from '../../src/app.ts'
import type { Clock } from '../../src/base/clock.ts'
import { compiledEnv } from '../tools/compile-cache.ts'
import { programPath } from '../tools/program.ts'

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

type Environment = Readonly<Record<string, string>>

/** Runs the program in its own process until it ends. @param env the whole environment except the path. */
export async function run(args: readonly string[], env: Environment = {}): Promise<Ended> {
  const child = spawn(process.execPath, [programPath('main'), ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...compiledEnv(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, out, err }
}

export interface RunOptions {
  readonly signal?: AbortSignal
  readonly clock?: Clock
  readonly hasColors?: boolean
}

/** Runs a command in this process, which saves half a second of loading. */
export async function runHere(
  args: readonly string[],
  env: Environment,
  { signal, clock, hasColors = false }: RunOptions = {},
): Promise<Ended> {
  const written = { out: '', err: '' }
  const into = (stream: 'out' | 'err') => ({
    isTTY: false,
    write: (piece: string | Uint8Array) => {
      written[stream] += Buffer.from(piece as string).toString()
    },
  })
  const host = {
    argv: args,
    env,
    stdin: Readable.from([]),
    stdout: { ...into('out'), hasColors },
    stderr: into('err'),
    signal: signal ?? new AbortController().signal,
    self: [process.execPath, MAIN] as const,
    command: 'submission-mirror',
    onReload() {},
    onCrash() {},
  }
  const code = await main(host, clock)
  return { code, ...written }
}

export function json<T>(ended: Ended): T {
  return JSON.parse(ended.out) as T
}
