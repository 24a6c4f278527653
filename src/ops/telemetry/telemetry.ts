import { type Environment, signalsIn } from './environment.ts'
import type { ProblemParts } from './problems.ts'
import type { Telemetry } from './start.ts'

/**
 * Starts sending traces and metrics to the collector that the environment names.
 * @param version version of the program.
 * @param parts parts for reporting problems.
 * @returns null if the environment enables neither traces nor metrics. The code for sending is then not imported.
 */
export async function openTelemetry(env: Environment, version: string, parts: ProblemParts): Promise<Telemetry | null> {
  const signals = signalsIn(env)
  if (!signals.traces && !signals.metrics) return null
  const { startTelemetry } = await import('./start.ts')
  return startTelemetry(signals, env, version, parts)
}
