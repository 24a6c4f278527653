import { accountsState } from './accounts-state.ts'
import type { BuiltParts } from './parts.ts'
import type { Stateful } from './state-file.ts'

/**
 * The parts of a sandbox that a state file keeps, by the names under which it does. They are restored in this order: accounts first, because
 * others name them, deliveries last, because they begin to send.
 *
 * A new part joins with a line here. What hangs from a submission or an account of the world belongs into the `toState` of those instead.
 * Whoever changes the shape of a state counts up `STATE_VERSION` in state-file.ts.
 */
export function statefulParts(parts: BuiltParts): Readonly<Record<string, Stateful>> {
  const { accounts, deliveries, grants, options, schedule, story, tokens, world } = parts
  return {
    accounts: accountsState(accounts, options),
    tokens,
    sessions: grants.sessions,
    codes: grants.authorizations,
    devices: grants.devices,
    world,
    story,
    schedule: {
      toState: () => schedule.pending(),
      fromState: (entries: Parameters<typeof schedule.restore>[0]) => schedule.restore(entries),
    },
    deliveries,
  }
}
