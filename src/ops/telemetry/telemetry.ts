import { type Environment, signalsIn } from './environment.ts'
import type { ProblemParts } from './problems.ts'
import type { Telemetry } from './start.ts'

/**
 * Sends signals to the collector in the environment. @param version the program's. @param parts for reporting problems.
 * @returns null without a collector; no sending code is loaded then.
 */
export async function openTelemetry(env: Environment, version: string, parts: ProblemParts): Promise<Telemetry | null> {
  const signals = signalsIn(env)
  if (!signals.traces && !signals.metrics) return null
  const { startTelemetry } = await import('./start.ts')
  return startTelemetry(signals, env, version, parts)
}
