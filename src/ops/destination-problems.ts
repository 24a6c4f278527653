import type { Config, DestinationConfig } from '../config.ts'
import { UsageError } from '../errors.ts'

/**
 * Checks what the settings cannot tell by themselves: that templates are JSONata, that adapters exist.
 * @throws UsageError with every problem at once.
 */
export async function refuseBrokenDestinations(config: Config): Promise<void> {
  const problems: string[] = []
  for (const destination of config.destinations) problems.push(...(await problemsOf(destination)))
  if (problems.length > 0) throw new UsageError(problems)
}

/** The parts that know are loaded only where there is something to check. */
async function problemsOf(destination: DestinationConfig): Promise<readonly string[]> {
  if (destination.kind === 'http') return (await import('../push/http/check-templates.ts')).checkTemplates(destination)
  if (destination.kind === 'adapter') return (await import('../push/kinds/adapter.ts')).checkAdapter(destination)
  return []
}
