import type { DeliveryKind, Outcome, PushItem } from '../../src/push/contract/delivery.ts'

export const delivered: Outcome = { type: 'delivered', status: 200, remoteId: null, detail: null }
export const lost = { type: 'unknown', error: 'no answer (ECONNRESET)' } satisfies Outcome

export interface TestKind extends DeliveryKind {
  readonly calls: number[][]
  readonly looked: number[]
}

export interface TestKindOptions {
  readonly batch?: DeliveryKind['batch']
  readonly send?: (item: PushItem, signal: AbortSignal) => Outcome | Promise<Outcome>
  readonly lookUp?: (item: PushItem) => Outcome | null
  readonly lookupAfterMs?: number
  readonly findMapping?: DeliveryKind['findMapping']
}

/** A target that remembers what it was sent. */
export function testKind(options: TestKindOptions = {}): TestKind {
  const { batch = { type: 'one' }, send = () => delivered, lookUp, lookupAfterMs, findMapping } = options
  const calls: number[][] = []
  const looked: number[] = []
  return {
    batch,
    lookupAfterMs,
    calls,
    looked,
    async send(items, signal) {
      calls.push(items.map(({ seq }) => seq))
      return await Promise.all(items.map((item) => send(item, signal)))
    },
    ...(lookUp && {
      lookUp: async (item: PushItem) => {
        looked.push(item.seq)
        return lookUp(item)
      },
    }),
    ...(findMapping && { findMapping }),
    probe: async () => ({ ok: true, text: 'it is there' }),
    close: async () => undefined,
  }
}
