import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { type Config, proxySettings } from '../../config/config.ts'

/** What `destinationsWithLookup` needs. */
export interface DestinationsWithLookup {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
}

/**
 * Destinations that must not get a change twice and can be asked whether they have it. Before a retry, a change that may have arrived is
 * looked up there.
 * @param only limits this to one destination; null for all.
 * @returns their names.
 */
export async function destinationsWithLookup(
  { config, clock, log }: DestinationsWithLookup,
  only: string | null,
): Promise<readonly string[]> {
  const notIdempotent = config.destinations.filter(({ idempotent, name }) => !idempotent && (only === null || name === only))
  if (notIdempotent.length === 0) return []
  const { createKind } = await import('../../push/kinds/create.ts')
  const names: string[] = []
  for (const destination of notIdempotent) {
    const kind = createKind(destination, { clock, log, proxy: proxySettings(config) })
    if (kind.lookUp) names.push(destination.name)
    await kind.close()
  }
  return names
}
