import { makeFanOut, makeSender, type PushingParts } from '../../src/app/pushing.ts'
import type { GroupServices } from '../../src/app/service-groups.ts'
import type { Service } from '../../src/base/service.ts'
import type { Sender } from '../../src/push/send/sender.ts'

const clocks = { judge: async () => ({ apart: [], isTrusted: true, isConfirmed: true, doubt: null }) }

export interface Pushing {
  readonly services: readonly Service[]
  close(): Promise<void>
}

/** Makes what pushes to every configured destination; nothing runs yet. */
export function createPushing(common: Omit<PushingParts, 'senders' | 'clocks'>): Pushing {
  const parts = { ...common, senders: new Set<Sender>(), clocks }
  const made: GroupServices[] = [makeFanOut(parts), ...common.config.destinations.map((destination) => makeSender(parts, destination))]
  for (const each of made) each.onStart?.()
  return {
    services: made.flatMap((each) => each.services),
    async close() {
      await Promise.all(made.map((each) => each.close?.()))
    },
  }
}
