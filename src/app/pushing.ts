import { type Config, type DestinationConfig, proxySettings } from '../config/config.ts'
import { secretValues } from '../config/secret-values.ts'
import { createDocumentStorage } from '../documents/storage/create.ts'
import { documentOpener } from '../documents/storage/opener.ts'
import type { ClockJudge } from '../ops/clocks/clock-watch.ts'
import { createKind } from '../push/kinds/create.ts'
import { redacting } from '../push/kinds/redacting.ts'
import { createFanOuts } from '../push/queue/filtered-fan-out.ts'
import { OutboxSignal, Sender } from '../push/send/sender.ts'
import { tlsWarning } from '../push/transport/client-tls.ts'
import type { ServiceParts } from '../store/engine/db.ts'
import { documentMetadata } from '../store/mirror/documents.ts'
import type { GroupServices } from './service-groups.ts'

export interface PushingParts extends ServiceParts {
  readonly config: Config
  /** Running senders of all destinations. */
  readonly senders: Set<Sender>
  readonly clocks: ClockJudge
}

/** @returns the services for all destinations: fan-out (change log to outboxes), and the signal that wakes senders. */
export function makeFanOut({ config, db, log, senders, clocks }: PushingParts): GroupServices {
  const isClockTrusted = async () => (await clocks.judge()).isTrusted
  const { services, close } = createFanOuts({ db, log, destinations: config.destinations, isClockTrusted })
  return { services: [...services, new OutboxSignal(db, senders)], close }
}

export function makeSender({ config, senders, ...common }: PushingParts, destination: DestinationConfig): GroupServices {
  const { clock, log } = common
  const openDocument = documentOpener(createDocumentStorage(config), (document) => documentMetadata(common.db.read, document))
  const kind = redacting(
    createKind(destination, { clock, log, proxy: proxySettings(config), openDocument, db: common.db }),
    secretValues(config),
  )
  warnAboutCertificate(destination, common)
  const sender = new Sender({ ...common, destination, kind, graceMs: config.shutdownGraceMs })
  return {
    services: [sender],
    onStart: () => void senders.add(sender),
    shareAmong: ({ pushing }) => sender.shareAmong(pushing),
    async close() {
      senders.delete(sender)
      await kind.close()
    },
  }
}

/**
 * Warns if the client certificate is expired or can't be used. Changes then stay queued until a person replaces the
 * file.
 */
function warnAboutCertificate(destination: DestinationConfig, { clock, log }: Pick<PushingParts, 'clock' | 'log'>): void {
  const files = 'tls' in destination ? destination.tls : null
  const warning = files === null ? null : tlsWarning(files, clock.now())
  if (warning !== null) log.warn({ destination: destination.name }, `destination ${destination.name}: ${warning}`)
}
