import { createHmac, randomBytes } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { DemoConsole } from './console.ts'

/** How long the changes for accounting may take. */
const LONGEST_MS = 60_000
const LOOK_MS = 200

const unmapped = z.object({ items: z.array(z.object({ submission_id: z.string(), insured_name: z.string().nullable() })) })
const inbox = z.object({ items: z.array(z.object({ inbox_id: z.number() })) })
const delivery = z.object({ items: z.array(z.object({ body: z.string() })) })
const destinations = z.object({
  items: z.array(z.object({ destination: z.string(), queued: z.number(), dead: z.number(), unmapped_lanes: z.number() })),
})

export interface PracticeParts {
  readonly page: Pick<DemoConsole, 'ask'>
  /** `http://host:port/webhooks`. */
  readonly webhooks: string
  /** The file of `WEBHOOK_SECRETS_FILE`. */
  readonly secretsFile: string
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly signal: AbortSignal
}

/**
 * Leaves one of each thing that an operator has to mend: a change that was given up, a submission without a client, and a delivery that was
 * refused before the secret that signed it was known. The fourth, a document on a host that is not named, is part of the story.
 * @returns what is left, and how it is mended: a line each.
 */
export async function leavePractice(p: PracticeParts): Promise<string[]> {
  await refuseOne(p)
  const waiting = await mapAllButOne(p)
  return [
    'a document on a host that is not named: Overview, "Show documents". documents.invalid exists nowhere; named in mirror.yaml, it is tried',
    'a change that accounting refused once: Overview, "Retry changes" delivers it',
    `a submission without a client in accounting (${waiting}): Overview, "Map submissions"; any client will do`,
    'a delivery signed with a secret that was not known yet: Deliveries, Rejected, "Verify all again"',
  ]
}

/** The portal signs with a new secret before the mirror knows it; then the mirror is told. What it refused meanwhile can be verified again. */
async function refuseOne({ page, webhooks, secretsFile, clock }: PracticeParts): Promise<void> {
  const [newest] = inbox.parse(await page.ask('/inbox?state=done&limit=1')).items
  const [stored] = delivery.parse(await page.ask(`/inbox/${newest?.inbox_id}`)).items
  const [key, body, id] = [randomBytes(32), stored?.body ?? '', `msg_${randomBytes(12).toString('hex')}`]
  const timestamp = String(Math.floor(clock.now() / 1000))
  const signature = `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  const headers = { 'content-type': 'application/json', 'svix-id': id, 'svix-timestamp': timestamp, 'svix-signature': signature }
  const { status } = await fetch(webhooks, { method: 'POST', headers, body })
  if (status !== 401) throw new Error(`a delivery signed with an unknown secret was answered ${status}`)
  appendFileSync(secretsFile, ` whsec_${key.toString('base64')}`)
  await page.ask('/reload', {})
}

/** @returns the insured of the one that waits. */
async function mapAllButOne({ page, clock, signal }: PracticeParts): Promise<string> {
  const { items } = unmapped.parse(await page.ask('/destinations/accounting/unmapped'))
  const [left, ...others] = items
  if (left === undefined || others.length === 0) throw new Error('no policy waits for accounting')
  const rows = others.map(({ submission_id }, index) => ({ submission_id, client: `C-${1001 + index}` }))
  await page.ask('/destinations/accounting/mappings', { rows })
  for (const until = clock.now() + LONGEST_MS; ; await clock.sleep(LOOK_MS, signal)) {
    const books = destinations.parse(await page.ask('/destinations')).items.find(({ destination }) => destination === 'accounting')
    // What is queued is the change of the one that waits.
    if (books?.dead === 1 && books.unmapped_lanes === 1 && books.queued === 1) return left.insured_name ?? left.submission_id
    if (clock.now() > until) throw new Error(`accounting did not get its policies: ${JSON.stringify(books)}`)
  }
}
