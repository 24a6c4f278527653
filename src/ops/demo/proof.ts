import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Host } from '../host.ts'
import { startChild } from './child.ts'

/** What a reconciliation said, and where its report lies. */
export interface Proof {
  /** Its last line. */
  readonly said: string
  /** null when it wrote none. */
  readonly report: string | null
  readonly exitCode: number | null
}

/** Runs `reconcile` beside the running serve, as an operator would. @param settings those of serve. */
export async function prove(host: Host, settings: Readonly<Record<string, string>>, folder: string): Promise<Proof> {
  const report = join(folder, 'reconciliation.html')
  const child = startChild(host, 'reconcile', ['reconcile', '--report', report], settings, join(folder, 'reconcile.log'))
  let said = ''
  child.onLine((line) => {
    if (line.trim() !== '') said = line
  })
  const exitCode = await child.finish()
  return { said, report: existsSync(report) ? report : null, exitCode }
}
