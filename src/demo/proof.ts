import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Host } from '../base/host.ts'
import { runExit } from '../reconcile/run/outcome.ts'
import { startChild } from './child.ts'

/** The outcome of a reconcile run, and its report. */
export interface Proof {
  /** What it did and found, or why it failed, in one line. */
  readonly summary: string
  /** Path of the report; null when there is none. */
  readonly report: string | null
  /** Whether it compared everything and found no difference. */
  readonly isProof: boolean
}

/** Runs `reconcile` beside the running serve, as an operator would. @param settings those of serve. */
export async function prove(host: Host, settings: Readonly<Record<string, string>>, folder: string): Promise<Proof> {
  const report = join(folder, 'reconciliation.html')
  const child = startChild(host, 'reconcile', ['reconcile', '--report', report], settings, join(folder, 'reconcile.log'))
  const lines: string[] = []
  child.onLine((line) => lines.push(line))
  const exitCode = await child.finish()
  // Without the line that names the run, and that of standard error, which may come at any place.
  const summary = lines.filter((line) => !/^(?:run|the report) /.test(line)).slice(0, 2)
  return { summary: summary.join('; '), report: existsSync(report) ? report : null, isProof: exitCode === runExit.clean }
}
