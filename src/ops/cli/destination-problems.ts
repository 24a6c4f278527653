import type { DestinationConfig } from '../../config/config.ts'

/**
 * Checks what the settings cannot tell by themselves: that templates are JSONata, that adapters exist.
 * @returns one line for each thing that is wrong.
 */
export async function destinationProblems(destinations: readonly DestinationConfig[]): Promise<string[]> {
  const problems: string[] = []
  for (const destination of destinations) problems.push(...(await problemsOf(destination)))
  return [...new Set(problems)]
}

/** The parts that know are loaded only where there is something to check. */
async function problemsOf(destination: DestinationConfig): Promise<readonly string[]> {
  if (destination.kind === 'http') return (await import('../../push/http/check-templates.ts')).checkTemplates(destination)
  if (destination.kind === 'adapter') return (await import('../../push/kinds/adapter.ts')).checkAdapter(destination)
  return []
}
