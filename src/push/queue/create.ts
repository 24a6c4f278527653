import type { Service } from '../../base/service.ts'
import { FanOut, type FanOutOptions } from './fan-out.ts'
import { FilteredFanOut } from './filtered-fan-out.ts'

/** What fills the outboxes of all destinations: one service for those without a `filter`, and one for each that has one. */
export interface FanOuts {
  readonly services: readonly Service[]
  close(): Promise<void>
}

export function createFanOuts(options: FanOutOptions): FanOuts {
  const plain = options.destinations.filter(({ filter }) => filter === null)
  const filtered = options.destinations.flatMap((destination) =>
    destination.filter === null ? [] : [new FilteredFanOut({ ...options, destination, filter: destination.filter })],
  )
  return {
    services: [...(plain.length === 0 ? [] : [new FanOut({ ...options, destinations: plain })]), ...filtered],
    async close() {
      for (const each of filtered) each.close()
    },
  }
}
