import type { DestinationConfig, HttpDestination, WebhookDestination } from '../../config/config.ts'

/**
 * Checks what the schema of the settings cannot: that templates are valid JSONata, that adapters exist, that the files of a
 * client certificate fit together.
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
  if (destination.kind === 'http')
    return [...(await import('../../push/http/check-templates.ts')).checkTemplates(destination), ...(await tlsProblems(destination))]
  if (destination.kind === 'webhook') return tlsProblems(destination)
  if (destination.kind === 'adapter') return (await import('../../push/kinds/adapter.ts')).checkAdapter(destination)
  return []
}

async function tlsProblems(destination: WebhookDestination | HttpDestination): Promise<readonly string[]> {
  return destination.tls === null ? [] : (await import('../../push/transport/client-tls.ts')).checkTlsFiles(destination)
}
