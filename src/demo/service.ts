import { z } from 'zod'
import { type Truth, truthSchema } from './compare.ts'

const stats = z.object({
  deliveries: z.object({
    queued: z.number(),
    lost: z.number(),
    duplicated: z.number(),
    twinned: z.number(),
    reordered: z.number(),
    delayed: z.number(),
  }),
  requests: z.record(z.string(), z.number()),
  faults: z.record(z.string(), z.number()),
  deliveriesPending: z.number(),
  story: z.object({ ended: z.boolean() }),
})
export type ServiceStats = z.output<typeof stats>

const faultList = z.object({ faults: z.array(z.looseObject({ kind: z.string(), status: z.number().optional() })) })

/** Calls the control routes of the sandbox. */
export class Service {
  readonly #origin: string

  /** @param origin origin of the sandbox, such as `http://127.0.0.1:8090`. */
  constructor(origin: string) {
    this.#origin = origin
  }

  async truth(): Promise<Truth> {
    return truthSchema.parse(await this.#ask('truth'))
  }

  async stats(): Promise<ServiceStats> {
    return stats.parse(await this.#ask('stats'))
  }

  /** Sets the URL to which the sandbox sends deliveries. */
  async deliverTo(url: string): Promise<void> {
    await this.#ask('target', { account: 'default', target: url })
  }

  async startStory(): Promise<void> {
    await this.#ask('story', { action: 'start' })
  }

  /** Removes faults that answer with this status, and faults of this kind. */
  async removeFaultsOf(status: number, kind: string): Promise<void> {
    const { faults } = faultList.parse(await this.#ask('faults'))
    const kept = faults.filter((fault) => fault.status !== status && fault.kind !== kind).map(({ struck: _, ...fault }) => fault)
    await this.#ask('faults', { faults: kept })
  }

  async removeFaults(): Promise<void> {
    await this.#ask('faults', { preset: 'none' })
  }

  async #ask(path: string, body?: unknown): Promise<unknown> {
    const post = body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const answer = await fetch(`${this.#origin}/_sandbox/${path}`, post)
    if (!answer.ok) throw new Error(`the sandbox answered ${answer.status} to ${path}: ${await answer.text()}`)
    return await answer.json()
  }
}
