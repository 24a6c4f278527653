/**
 * A reporter that prints the slowest files of a run, their hooks included. With RECORD_DURATIONS set it also keeps how long each took, for
 * the order in which they are begun:
 *
 *   RECORD_DURATIONS=1 npm test -- --reporter=default --reporter=./test/tools/durations.ts
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Reporter, TestModule } from 'vitest/node'

const SLOWEST = 30
/** What takes less ends soon wherever it stands. */
const LEAST_SECONDS = 1
const file = fileURLToPath(new URL('durations.json', import.meta.url))

/** Seconds of each file that takes more than one, by its path from the project's root. */
export type Durations = Readonly<Record<string, number>>

export function readDurations(): Durations {
  return JSON.parse(readFileSync(file, 'utf8')) as Durations
}

export default class DurationsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const taken = modules.map((module) => {
      // Loading is not counted: the first file of a process loads what all others use.
      return [relative(module.project.config.root, module.moduleId), module.diagnostic().duration / 1000] as const
    })
    taken.sort(([, a], [, b]) => b - a)
    for (const [path, seconds] of taken.slice(0, SLOWEST)) console.log(`${seconds.toFixed(1).padStart(7)} s  ${path}`)
    if (process.env['RECORD_DURATIONS'] !== undefined) record(taken)
  }
}

/** Files that did not run keep what is known of them. */
function record(taken: readonly (readonly [path: string, seconds: number])[]): void {
  const all = { ...readDurations(), ...Object.fromEntries(taken) }
  const long = Object.entries(all).filter(([, seconds]) => seconds >= LEAST_SECONDS)
  const sorted = long.map(([path, seconds]) => [path, Math.round(seconds)] as const).sort(([, a], [, b]) => b - a)
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
}
