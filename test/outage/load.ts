import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { inboxRows, recordIds, waitFor } from '../e2e/agreement.ts'
import type { ServeProcess } from '../e2e/serve.ts'
import { type Answered, postSigned } from '../e2e/signed.ts'
import { letTimePass } from '../e2e/time.ts'

const SENDERS = 8
/** Pause between two deliveries of a sender. */
const PAUSE_MS = 10
const LEASE_MS = 130_000
const START_MS = Date.UTC(2026, 0, 5)

export interface LoadOptions {
  readonly url: string
  readonly secret: string
  readonly submissionId: string
  readonly length?: number
}

interface Sent extends Answered {
  readonly messageId: string
}

export class Load {
  readonly answers: Sent[] = []
  readonly #o: LoadOptions
  readonly #senders: Promise<void>[]
  #over = false

  constructor(options: LoadOptions) {
    this.#o = options
    this.#senders = Array.from({ length: SENDERS }, () => this.#send())
    // `stop` reports these errors.
    for (const sender of this.#senders) sender.catch(() => undefined)
  }

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

  /** Ends the load. @throws Error if an answer took longer than the service waits. */
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

/** Checks every delivery and the process after an outage. */
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
  // Claimed work resumes when its lease ends.
  await letTimePass(db, LEASE_MS, { leases: true })
  const worked = await waitFor(async () => (await inboxRows(db)).every((row) => row['state'] === 'done'))
  expect(worked, running.lines().join('\n')).toBe(true)
  const mirrored = await recordIds(db, 'default')
  expect(
    stored.filter(({ messageId }) => !mirrored.has(messageId)),
    'acknowledged and not in the mirror',
  ).toEqual([])
}

export async function readiness(running: Pick<ServeProcess, 'ops'>, status: number): Promise<void> {
  let last = ''
  const is = await waitFor(async () => {
    const answer = await fetch(`${running.ops}/readyz`)
    last = `${answer.status} ${await answer.text()}`
    return answer.status === status
  })
  expect(is, `not ${status} but ${last}`).toBe(true)
}
