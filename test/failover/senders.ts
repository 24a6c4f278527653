import { randomUUID } from 'node:crypto'
import { systemClock } from '../../src/base/clock.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import { postSigned } from '../e2e/signed.ts'
import { until } from '../tools/until.ts'

const SENDERS = 6
const PAUSE_MS = 15
/** Keeps this many deliveries in flight beyond the awaited ones. */
const AHEAD = 30
const ACCOUNT = 'default'

export interface Acknowledged {
  readonly deliveryId: string
  readonly messageId: string
}

/**
 * Sends message deliveries continuously and repeats each until it is acknowledged. The feeds have the messages too, so that a full re-read
 * finds them.
 */
export class Senders {
  /** In the order of the answers. */
  readonly acknowledged: Acknowledged[] = []
  refused = 0
  /** Answers other than 204 and 503; null for a broken connection. */
  readonly wrong: (number | null)[] = []
  readonly #sandbox: Sandbox
  readonly #url: string
  readonly #submissions: readonly string[]
  readonly #running: Promise<void>[]
  #wanted = 0
  #over = false

  constructor(sandbox: Sandbox, receiver: string, submissions: readonly string[]) {
    this.#sandbox = sandbox
    this.#url = `${receiver}/webhooks`
    this.#submissions = submissions
    this.#running = Array.from({ length: SENDERS }, (_, index) => this.#run(index))
    // `stop` reports these errors.
    for (const running of this.#running) running.catch(() => undefined)
  }

  async more(count: number): Promise<void> {
    const wanted = this.acknowledged.length + count
    this.#wanted = wanted
    await until(`${count} more deliveries are acknowledged`, () => this.acknowledged.length >= wanted)
  }

  async stop(): Promise<void> {
    this.#over = true
    await Promise.all(this.#running)
  }

  async #run(index: number): Promise<void> {
    const submissionId = this.#submissions[index % this.#submissions.length] ?? ''
    const secret = this.#sandbox.account(ACCOUNT).webhookSecret
    while (!this.#over) {
      if (this.acknowledged.length >= this.#wanted + AHEAD) {
        await systemClock.sleep(PAUSE_MS)
        continue
      }
      const message = this.#sandbox.addMessage(ACCOUNT, submissionId, { body_text: 'Any news?' }, { quiet: true })
      const body = JSON.stringify({ type: 'submission.message', submission_id: submissionId, message })
      const deliveryId = `msg_${randomUUID()}`
      for (;;) {
        const status = await postSigned(this.#url, secret, body, deliveryId).then(
          (answer) => answer.status,
          () => null,
        )
        if (status === 204) break
        this.refused += 1
        if (status !== 503) this.wrong.push(status)
        if (this.#over) return
        await systemClock.sleep(PAUSE_MS)
      }
      this.acknowledged.push({ deliveryId, messageId: message.id })
      await systemClock.sleep(PAUSE_MS)
    }
  }
}
