import { limitedTo } from '../../base/abortable.ts'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { type Config, type DestinationConfig, proxySettings } from '../../config/config.ts'
import { secretValues } from '../../config/secret-values.ts'
import type { DeliveryKind, ProbeResult } from '../../push/contract/delivery.ts'
import { printableLine } from '../output/text.ts'

/** A probe may take this many timeouts of the destination: it may sign in, or have several steps. */
const PROBE_FACTOR = 3

/** Makes one harmless attempt at a destination. @returns the outcome in one printable sentence. */
export async function probeDestination(
  { clock, host, log }: { readonly clock: Clock; readonly host: { readonly signal: AbortSignal }; readonly log: Log },
  config: Config,
  destination: DestinationConfig,
): Promise<ProbeResult> {
  const signal = limitedTo(destination.timeoutMs * PROBE_FACTOR, host.signal)
  let kind: DeliveryKind | undefined
  try {
    // Loaded only here: no other command sends.
    const [{ createKind }, { redacting }] = await Promise.all([
      import('../../push/kinds/create.ts'),
      import('../../push/kinds/redacting.ts'),
    ])
    kind = redacting(createKind(destination, { clock, log, proxy: proxySettings(config) }), secretValues(config))
    const { ok, text } = await kind.probe(signal)
    return { ok, text: printableLine(text, 500) }
  } catch (error) {
    return { ok: false, text: printableLine(messageOf(error), 500) }
  } finally {
    await kind?.close()
  }
}
