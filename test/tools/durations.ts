/**
 * A reporter of the slowest files, including hooks. With RECORD_DURATIONS it also stores the durations, for the order of execution:
 * RECORD_DURATIONS=1 npm test -- --reporter=default --reporter=./test/tools/durations.ts
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Reporter, TestModule } from 'vitest/node'

const SLOWEST = 30
/** Order doesn't matter below this. */
const LEAST_SECONDS = 5
const file = fileURLToPath(new URL('durations.json', import.meta.url))

/** Seconds of each file from five seconds on, by its path in the project. */
export type Durations = Readonly<Record<string, number>>

export function readDurations(): Durations {
  return JSON.parse(readFileSync(file, 'utf8')) as Durations
}

export default class DurationsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const taken = modules.map((module) => {
      // Excludes loading, since a process's first file loads what others use.
      return [relative(module.project.config.root, module.moduleId), module.diagnostic().duration / 1000] as const
    })
    taken.sort(([, a], [, b]) => b - a)
    for (const [path, seconds] of taken.slice(0, SLOWEST)) console.log(`${seconds.toFixed(1).padStart(7)} s  ${path}`)
    if (process.env['RECORD_DURATIONS'] !== undefined) record(taken)
  }
}

function record(taken: readonly (readonly [path: string, seconds: number])[]): void {
  const all = { ...readDurations(), ...Object.fromEntries(taken) }
  const long = Object.entries(all).filter(([, seconds]) => seconds >= LEAST_SECONDS)
  const sorted = long.map(([path, seconds]) => [path, Math.round(seconds)] as const).sort(([, a], [, b]) => b - a)
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
}
