import { abortable, limitedTo } from '../../base/abortable.ts'
import type { Clock } from '../../base/clock.ts'
import { messageOf, PermanentError, TransientError, UsageError } from '../../base/errors.ts'
import { listNames } from '../../base/list-names.ts'
import type { AdapterDestination } from '../../config/config.ts'
import { type Adapter, type AdapterDefinition, type Steps, type Taken, withoutEffect } from '../adapters/adapter.ts'
import { adapters } from '../adapters/registry.ts'
import type { DeliveryKind, KindContext, Outcome, PushItem } from '../contract/delivery.ts'
import { type Failure, localFailure, StepFailure, taken, unanswered } from '../contract/outcomes.ts'
import { remoteIdOf } from '../contract/remote-id.ts'
import { ABORTED } from '../transport/exchange.ts'
import { LEAST_SHARE, openTransport, type Transport } from '../transport/transport.ts'

/**
 * Delivers through the adapter that the destination names.
 * @throws UsageError for the problems that `checkAdapter` finds.
 */
export function createAdapter(destination: AdapterDestination, context: KindContext): DeliveryKind {
  const problems = checkAdapter(destination)
  const definition = adapters.get(destination.adapter)
  if (definition === undefined || problems.length > 0) throw new UsageError(problems)
  const { clock, proxy } = context
  return new AdapterKind(destination, definition.create(destination), openTransport(destination, proxy, { clock }), clock)
}

/** @returns one sentence for each problem of the destination: an unknown adapter, wrong names of settings, or wrong values. */
export function checkAdapter(destination: AdapterDestination): string[] {
  const at = `destination ${destination.name}:`
  const definition = adapters.get(destination.adapter)
  if (definition === undefined) return [`${at} there is no adapter ${destination.adapter}; ${listNames([...adapters.keys()])}`]
  const problems = (['settings', 'credentials'] as const).flatMap((part) => nameProblems(part, definition, destination))
  return (problems.length > 0 ? problems : definition.check(destination)).map((problem) => `${at} ${problem}`)
}

function nameProblems(part: 'settings' | 'credentials', definition: AdapterDefinition, destination: AdapterDestination): string[] {
  const known = definition[part]
  const missing = Object.keys(known).filter((name) => known[name] === 'needed' && destination[part][name] === undefined)
  const unknown = Object.keys(destination[part]).filter((name) => known[name] === undefined)
  return [
    ...missing.map((name) => `${part}.${name} is missing; the adapter ${destination.adapter} needs it`),
    ...unknown.map((name) => `${part} has an unknown key, ${JSON.stringify(name)}; known are ${Object.keys(known).join(', ')}`),
  ]
}

class AdapterKind implements DeliveryKind {
  readonly batch = { type: 'one' } as const
  readonly findMapping: DeliveryKind['findMapping']
  readonly #destination: AdapterDestination
  readonly #adapter: Adapter
  readonly #transport: Transport
  readonly #clock: Clock

  constructor(destination: AdapterDestination, adapter: Adapter, transport: Transport, clock: Clock) {
    this.#destination = destination
    this.#adapter = adapter
    this.#transport = transport
    this.#clock = clock
    const { findMapping } = adapter
    this.findMapping = findMapping && ((item, signal) => findMapping.call(adapter, item, this.#steps(signal)))
  }

  async send(items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = []
    for (const item of items) outcomes.push(await this.#sendOne(item, signal))
    return outcomes
  }

  async probe(signal: AbortSignal): ReturnType<DeliveryKind['probe']> {
    try {
      return { ok: true, text: await this.#adapter.probe(this.#steps(signal)) }
    } catch (error) {
      return { ok: false, text: messageOf(error) }
    }
  }

  async close(): Promise<void> {
    await this.#transport.close()
  }

  async #sendOne(item: PushItem, signal: AbortSignal): Promise<Outcome> {
    return await this.#judge(async () => delivered(await this.#adapter.deliver(item, this.#steps(signal))))
  }

  /** The requests of one delivery, which together take no longer than the destination's timeout. */
  #steps(signal: AbortSignal): Steps {
    const { timeoutMs: allMs } = this.#destination
    const endsAt = this.#clock.steady() + allMs
    const late = `the steps took longer than ${allMs} ms`
    const send = async (request: Parameters<Steps['query']>[0], meaning: (failure: Failure) => Failure) => {
      const timeoutMs = Math.ceil(endsAt - this.#clock.steady())
      if (timeoutMs <= 0) throw new TransientError(late)
      const result = await this.#transport.send({ ...request, timeoutMs }, signal)
      if (result.type !== 'answer') throw new StepFailure(meaning(unanswered(result)))
      return result
    }
    return {
      clock: this.#clock,
      query: (request) => send(request, withoutEffect),
      submit: async (request) => {
        // What came before is known by the next try.
        if (endsAt - this.#clock.steady() < allMs * LEAST_SHARE) throw new TransientError(late)
        return await send(request, (failure) => failure)
      },
      independent: () => this.#steps(new AbortController().signal),
      wait: async (work) => {
        const over = limitedTo(Math.max(0, Math.ceil(endsAt - this.#clock.steady())), signal)
        try {
          return await abortable(work, over)
        } catch (error) {
          if (error !== over.reason) throw error
          throw new StepFailure(withoutEffect({ type: 'unknown', error: signal.aborted ? ABORTED : late }))
        }
      },
    }
  }

  /** Turns what an adapter throws into an outcome. */
  async #judge(work: () => Promise<Outcome>): Promise<Outcome> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof StepFailure) return error.failure
      const retryAfterMs = error instanceof TransientError ? (error.retryAfterMs ?? null) : null
      return { ...localFailure(messageOf(error), error instanceof PermanentError), retryAfterMs }
    }
  }
}

function delivered({ status, remoteId, detail }: Taken): Outcome {
  return taken(status, remoteIdOf(remoteId), detail)
}
