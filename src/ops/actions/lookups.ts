import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { type Config, proxySettings } from '../../config/config.ts'

/** What it takes to tell which destinations can be asked. */
export interface DestinationsWithLookup {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
}

/**
 * @param only the one destination that is asked for; null for all.
 * @returns the names of the destinations that must not get a change twice, and can be asked whether they have it: there a change that may
 * have arrived is looked for before it is sent again, whoever asks for that.
 */
export async function destinationsWithLookup(
  { config, clock, log }: DestinationsWithLookup,
  only: string | null,
): Promise<readonly string[]> {
  const harmed = config.destinations.filter(({ idempotent, name }) => !idempotent && (only === null || name === only))
  if (harmed.length === 0) return []
  const { createKind } = await import('../../push/kinds/create.ts')
  const names: string[] = []
  for (const destination of harmed) {
    const kind = createKind(destination, { clock, log, proxy: proxySettings(config) })
    if (kind.lookUp) names.push(destination.name)
    await kind.close()
  }
  return names
}
