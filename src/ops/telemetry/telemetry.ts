import { type Environment, signalsIn } from './environment.ts'
import type { ProblemParts } from './problems.ts'
import type { Telemetry } from './start.ts'

/**
 * Sends to the collector that the environment names.
 * @param version of the program. @param parts where it tells what hinders it.
 * @returns null when it names none: then nothing that sends is loaded.
 */
export async function openTelemetry(env: Environment, version: string, parts: ProblemParts): Promise<Telemetry | null> {
  const signals = signalsIn(env)
  if (!signals.traces && !signals.metrics) return null
  const { startTelemetry } = await import('./start.ts')
  return startTelemetry(signals, env, version, parts)
}
