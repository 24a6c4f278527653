import { messageOf, PermanentError, TransientError } from '../../base/errors.ts'
import type { Ams360Destination } from '../../config/config.ts'
import { Ams360 } from '../ams360/notes.ts'
import { Steps } from '../ams360/steps.ts'
import type { DeliveryKind, KindContext, Outcome, PushItem } from '../contract/delivery.ts'
import { localFailure, StepFailure } from '../contract/outcomes.ts'
import { openTransport } from '../transport/transport.ts'

export function createAms360(destination: Ams360Destination, { clock, proxy }: KindContext): DeliveryKind {
  const transport = openTransport(destination, proxy, { clock })
  const ams = new Ams360(destination)
  const steps = (signal: AbortSignal) => new Steps(transport, clock, destination.timeoutMs, signal)
  return {
    batch: { type: 'one' },
    send: async (items, signal) => {
      const outcomes: Outcome[] = []
      for (const item of items) outcomes.push(await outcomeOf(ams, item, steps(signal)))
      return outcomes
    },
    findMapping: (item, signal) => ams.findMapping(item, steps(signal)),
    probe: async (signal) => {
      try {
        return { ok: true, text: await ams.probe(steps(signal)) }
      } catch (error) {
        return { ok: false, text: messageOf(error) }
      }
    },
    close: () => transport.close(),
  }
}

async function outcomeOf(ams: Ams360, item: PushItem, steps: Steps): Promise<Outcome> {
  try {
    return await ams.deliver(item, steps)
  } catch (error) {
    if (error instanceof StepFailure) return error.failure
    const retryAfterMs = error instanceof TransientError ? (error.retryAfterMs ?? null) : null
    return { ...localFailure(messageOf(error), error instanceof PermanentError), retryAfterMs }
  }
}
