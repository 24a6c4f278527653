import type { DestinationConfig } from '../../config/config.ts'

/**
 * Checks what the schema of the settings cannot: that templates are valid JSONata, that adapters exist.
 * @returns one line per problem.
 */
export async function destinationProblems(destinations: readonly DestinationConfig[]): Promise<string[]> {
  const problems: string[] = []
  for (const destination of destinations) problems.push(...(await filterProblems(destination)), ...(await problemsOf(destination)))
  return [...new Set(problems)]
}

/** The checks are loaded only when a destination needs them. */
async function filterProblems(destination: DestinationConfig): Promise<readonly string[]> {
  return destination.filter === null ? [] : (await import('../../push/http/check-templates.ts')).checkFilter(destination)
}

async function problemsOf(destination: DestinationConfig): Promise<readonly string[]> {
  if (destination.kind === 'http') return (await import('../../push/http/check-templates.ts')).checkTemplates(destination)
  if (destination.kind === 'adapter') return (await import('../../push/kinds/adapter.ts')).checkAdapter(destination)
  return []
}
