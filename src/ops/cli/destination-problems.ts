import type { DestinationConfig } from '../../config/config.ts'

/**
 * Checks what the schema of the settings can't check: JSONata in templates and filters, and files of client
 * certificates. Imports the checks only if a destination exists.
 * @returns one line per problem.
 */
export async function destinationProblems(destinations: readonly DestinationConfig[]): Promise<string[]> {
  if (destinations.length === 0) return []
  const [{ checkFilter, checkTemplates }, { checkTlsFiles }] = await Promise.all([
    import('../../push/http/check-templates.ts'),
    import('../../push/transport/client-tls.ts'),
  ])
  const problems = destinations.flatMap((destination) => [
    ...checkFilter(destination),
    ...(destination.kind === 'http' ? checkTemplates(destination) : []),
    ...('tls' in destination ? checkTlsFiles(destination) : []),
  ])
  return [...new Set(problems)]
}
