import { createHmac, randomBytes } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { DemoConsole } from './console.ts'

const LONGEST_MS = 60_000
const POLL_MS = 200

const unmapped = z.object({ items: z.array(z.object({ submission_id: z.string(), insured_name: z.string().nullable() })) })
const inbox = z.object({ items: z.array(z.object({ inbox_id: z.number() })) })
const delivery = z.object({ items: z.array(z.object({ body: z.string() })) })
const destinations = z.object({
  items: z.array(z.object({ destination: z.string(), queued: z.number(), dead: z.number(), unmapped_streams: z.number() })),
})

interface PracticeParts {
  readonly page: Pick<DemoConsole, 'call'>
  /** URL of the receiver, such as `http://127.0.0.1:8080/webhooks`. */
  readonly webhooks: string
  readonly secretsFile: string
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly signal: AbortSignal
}

/**
 * Creates three issues for a person to fix: a dead-lettered change, a submission without an accounting client, and a
 * rejected delivery. The story already created a fourth issue: a document on an unlisted host.
 * @returns the four issues, and where to fix each.
 */
export async function leavePracticeIssues(p: PracticeParts): Promise<string[]> {
  await rejectDelivery(p)
  const waiting = await mapAllButOne(p)
  return [
    'document on an unlisted host: Overview, "Show documents"',
    'dead-lettered change for accounting: Overview, "Retry changes"',
    `submission without a client (${waiting}): Overview, "Map submissions"`,
    'rejected delivery, signed with a new secret: Deliveries, Rejected, "Verify all again"',
  ]
}

/**
 * Sends a delivery that is rejected, because it is signed with an unknown secret. Then adds the secret to the settings,
 * so that the delivery can be verified again.
 */
async function rejectDelivery({ page, webhooks, secretsFile, clock }: PracticeParts): Promise<void> {
  const [newest] = inbox.parse(await page.call('/inbox?state=done&limit=1')).items
  const [stored] = delivery.parse(await page.call(`/inbox/${newest?.inbox_id}`)).items
  const [key, body, id] = [randomBytes(32), stored?.body ?? '', `msg_${randomBytes(12).toString('hex')}`]
  const timestamp = String(Math.floor(clock.now() / 1000))
  const signature = `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  const headers = { 'content-type': 'application/json', 'svix-id': id, 'svix-timestamp': timestamp, 'svix-signature': signature }
  const { status } = await fetch(webhooks, { method: 'POST', headers, body })
  if (status !== 401) throw new Error(`The answer to a delivery signed with an unknown secret was ${status}, not 401.`)
  appendFileSync(secretsFile, ` whsec_${key.toString('base64')}`)
  await page.call('/reload', {})
}

async function mapAllButOne({ page, clock, signal }: PracticeParts): Promise<string> {
  const { items } = unmapped.parse(await page.call('/destinations/accounting/unmapped'))
  const [left, ...others] = items
  if (left === undefined || others.length === 0) throw new Error('Fewer than two submissions need an accounting client.')
  const rows = others.map(({ submission_id }, index) => ({ submission_id, client: `C-${1001 + index}` }))
  await page.call('/destinations/accounting/mappings', { rows })
  for (const until = clock.now() + LONGEST_MS; ; await clock.sleep(POLL_MS, signal)) {
    const books = destinations.parse(await page.call('/destinations')).items.find(({ destination }) => destination === 'accounting')
    // Return when the only queued change belongs to the unmapped submission. All other changes are then processed.
    if (books?.dead === 1 && books.unmapped_streams === 1 && books.queued === 1) return left.insured_name ?? left.submission_id
    if (clock.now() > until) throw new Error(`Accounting did not receive its policies: ${JSON.stringify(books)}`)
  }
}
