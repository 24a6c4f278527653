import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Host } from '../../base/host.ts'
import { runExit } from '../../reconcile/run/outcome.ts'
import { startChild } from './child.ts'

/** What a reconciliation said, and where its report lies. */
export interface Proof {
  /** What it did and found, in one line; what went wrong when it did not get so far. */
  readonly said: string
  /** null when it wrote none. */
  readonly report: string | null
  /** Whether it compared everything, and found nothing that is wrong. */
  readonly isProof: boolean
}

/** Runs `reconcile` beside the running serve, as an operator would. @param settings those of serve. */
export async function prove(host: Host, settings: Readonly<Record<string, string>>, folder: string): Promise<Proof> {
  const report = join(folder, 'reconciliation.html')
  const child = startChild(host, 'reconcile', ['reconcile', '--report', report], settings, join(folder, 'reconcile.log'))
  const lines: string[] = []
  child.onLine((line) => lines.push(line))
  const exitCode = await child.finish()
  // The first line names the run, and what comes from standard error may stand anywhere.
  const said = lines.filter((line) => !/^(?:run|the report) /.test(line)).slice(0, 2)
  return { said: said.join('; '), report: existsSync(report) ? report : null, isProof: exitCode === runExit.clean }
}
