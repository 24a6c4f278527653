import type { Clock } from '../clock.ts'
import { type Config, proxySettings } from '../config.ts'
import type { Log } from '../log.ts'
import type { Observer } from '../observe.ts'
import { FanOut } from '../push/fan-out.ts'
import { createKind } from '../push/kinds.ts'
import { OutboxBell, Sender } from '../push/sender.ts'
import type { Service } from '../service.ts'
import type { Db } from '../store/db.ts'

export interface PushingParts {
  readonly config: Config
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
}

/** What pushes changes to the destinations of the settings. */
export interface Pushing {
  readonly services: readonly Service[]
  /** How many processes push, this one included: they share each destination's rate. */
  shareAmong(processes: number): void
  /** Breaks off what is under way. */
  close(): Promise<void>
}

/** Puts the push stage together: one fan-out for all destinations, and a sender for each. */
export function createPushing({ config, ...common }: PushingParts): Pushing {
  const { destinations, shutdownGraceMs: graceMs } = config
  const { clock, log } = common
  const proxy = proxySettings(config)
  const pairs = destinations.map((destination) => ({ destination, kind: createKind(destination, { clock, log, proxy }) }))
  const senders = pairs.map((pair) => new Sender({ ...common, ...pair, graceMs }))
  return {
    services: [new FanOut({ db: common.db, log: common.log, destinations }), new OutboxBell(common.db, senders), ...senders],
    shareAmong(processes) {
      for (const sender of senders) sender.shareAmong(processes)
    },
    async close() {
      await Promise.all(pairs.map(({ kind }) => kind.close()))
    },
  }
}
