import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { inboxRows, recordIds, waitFor } from '../e2e/agreement.ts'
import type { ServeProcess } from '../e2e/serve.ts'
import { type Answered, postSigned } from '../e2e/signed.ts'
import { letTimePass } from '../e2e/time.ts'

const SENDERS = 8
/** Between two deliveries of a sender: a service does not hammer either. */
const PAUSE_MS = 10
/** Longer than any lease. */
const LEASE_MS = 130_000
const START_MS = Date.UTC(2026, 0, 5)

export interface LoadOptions {
  readonly url: string
  readonly secret: string
  /** What all deliveries are about. */
  readonly submissionId: string
  /** Characters in each message; some, when left out. */
  readonly length?: number
}

interface Sent extends Answered {
  readonly messageId: string
}

/** Messages delivered all the time, by several senders, and how each was answered. */
export class Load {
  readonly answers: Sent[] = []
  readonly #o: LoadOptions
  readonly #senders: Promise<void>[]
  #over = false

  constructor(options: LoadOptions) {
    this.#o = options
    this.#senders = Array.from({ length: SENDERS }, () => this.#send())
    // Seen by whoever stops the load; a test that fails before leaves them to themselves.
    for (const sender of this.#senders) sender.catch(() => undefined)
  }

  /** Waits until so many more were answered with `status`. */
  async answered(status: number, more: number): Promise<void> {
    const before = this.count(status)
    expect(
      await waitFor(() => this.count(status) >= before + more),
      `${status} was not answered, but ${this.answers.slice(-5).map((answer) => answer.status)}`,
    ).toBe(true)
  }

  count(status: number): number {
    return this.answers.filter((answer) => answer.status === status).length
  }

  /** Ends the sending. @throws Error when a delivery was not answered in the time that the service waits. */
  async stop(): Promise<void> {
    this.#over = true
    await Promise.all(this.#senders)
  }

  async #send(): Promise<void> {
    const { url, secret, submissionId, length = 200 } = this.#o
    while (!this.#over) {
      const messageId = randomUUID()
      const message = {
        id: messageId,
        channel: 'chat',
        direction: 'outbound',
        kind: 'chat',
        occurred_at: new Date(START_MS + this.answers.length * 1_000).toISOString(),
        subject: null,
        body_text: 'x'.repeat(length),
        from: null,
        to: [],
        attachments: [],
        in_reply_to: null,
      }
      const body = JSON.stringify({ type: 'submission.message', submission_id: submissionId, message })
      this.answers.push({ ...(await postSigned(url, secret, body)), messageId })
      await systemClock.sleep(PAUSE_MS)
    }
  }
}

/** What must hold of every delivery, and of the process, when an outage is over. */
export async function expectNothingLost(load: Load, running: ServeProcess, db: Db): Promise<void> {
  expect(running.process.exitCode, running.lines().join('\n')).toBeNull()
  for (const { status, retryAfter } of load.answers) {
    expect([204, 503]).toContain(status)
    if (status === 503) expect(Number(retryAfter)).toBeGreaterThan(0)
  }
  const stored = load.answers.filter(({ status }) => status === 204)
  const inbox = new Set((await inboxRows(db)).map((row) => row['delivery_id']))
  expect(
    stored.filter(({ id }) => !inbox.has(id)),
    'acknowledged and not stored',
  ).toEqual([])
  // What was in hand when the store went away is taken up when its lease ends.
  await letTimePass(db, LEASE_MS, { leases: true })
  const worked = await waitFor(async () => (await inboxRows(db)).every((row) => row['state'] === 'done'))
  expect(worked, running.lines().join('\n')).toBe(true)
  const mirrored = await recordIds(db, 'default')
  expect(
    stored.filter(({ messageId }) => !mirrored.has(messageId)),
    'acknowledged and not in the mirror',
  ).toEqual([])
}

/** Waits until `/readyz` answers with `status`. */
export async function readiness(running: Pick<ServeProcess, 'ops'>, status: number): Promise<void> {
  let last = ''
  const is = await waitFor(async () => {
    const answer = await fetch(`${running.ops}/readyz`)
    last = `${answer.status} ${await answer.text()}`
    return answer.status === status
  })
  expect(is, `not ${status} but ${last}`).toBe(true)
}
