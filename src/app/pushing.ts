import type { Clock } from '../clock.ts'
import { type Config, type DestinationConfig, proxySettings, secretValues } from '../config.ts'
import type { Log } from '../log.ts'
import type { Observer } from '../observe.ts'
import { discreet } from '../push/discreet.ts'
import { FanOut } from '../push/fan-out.ts'
import { createKind } from '../push/kinds.ts'
import { OutboxBell, Sender } from '../push/sender.ts'
import type { Db } from '../store/db.ts'
import type { Made } from './groups.ts'

export interface PushingParts {
  readonly config: Config
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
  /** The senders that there are. */
  readonly senders: Set<Sender>
}

/** What all destinations share: change log -> outbox, and the bell that tells the senders of it. */
export function makeFanOut({ config, db, log, senders }: PushingParts): Made {
  return { services: [new FanOut({ db, log, destinations: config.destinations }), new OutboxBell(db, senders)] }
}

/** What sends to one destination. */
export function makeSender({ config, senders, ...common }: PushingParts, destination: DestinationConfig): Made {
  const { clock, log } = common
  const kind = discreet(createKind(destination, { clock, log, proxy: proxySettings(config) }), secretValues(config))
  const sender = new Sender({ ...common, destination, kind, graceMs: config.shutdownGraceMs })
  return {
    services: [sender],
    begin: () => void senders.add(sender),
    shareAmong: ({ pushing }) => sender.shareAmong(pushing),
    async close() {
      senders.delete(sender)
      await kind.close()
    },
  }
}
