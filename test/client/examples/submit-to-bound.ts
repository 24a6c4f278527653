import { createInterface } from 'node:readline'
// From your own code: 'submission-mirror/client'.
import { AssumptionsUnconfirmed, type Client, clientCredentials, createClient } from '../../../src/client/exports.ts'

/*
 * Takes a submission from its creation to `bound` with the client. Start an emulator with a manual clock:
 *
 *   npx node src/main.ts sandbox --story none --clock step
 *
 * and set BASE_URL, ADMIN_URL, CLIENT_ID, CLIENT_SECRET and PRODUCER_EMAIL. Each step prints a line.
 * FOLLOW=yes waits for a line of standard input after each step, so that you can look at the mirror.
 */

const producerEmail = setting('PRODUCER_EMAIL')
const auth = clientCredentials({ clientId: setting('CLIENT_ID'), clientSecret: setting('CLIENT_SECRET') })
const client: Client = createClient({ baseUrl: setting('BASE_URL'), auth, producerEmail })
const lossRuns = new TextEncoder().encode('%PDF-1.7\nloss runs\n%%EOF\n')
const input = createInterface({ input: process.stdin })
const typed = input[Symbol.asyncIterator]()

const id = await submit()
const document = await client.submissions.upload(id, { file: lossRuns, displayName: 'Loss runs 2026' })
await step(`uploaded ${document.id}`)
const { marketing_status } = await client.submissions.finalize(id)
expect(marketing_status, 'matching')
await step('finalized')
await letPass(300)
expect((await client.submissions.requirements(id)).marketing_status, 'matched')
await step('matched')
await converse()
const quoteId = await firstQuote()
await step(`quoted ${quoteId}`)
const bindRequestId = await draft()
await satisfy()
for (const to of ['submitted', 'sent', 'binder_received', 'bound']) {
  await admin('/bind', { bind_request_id: bindRequestId, to })
  await letPass(60)
  expect((await client.bind.get(id, bindRequestId)).status, to)
  await step(to)
}
await readPolicy()
input.close()

/** Creates the submission on hold, so that documents can be attached first. @returns its id. */
async function submit(): Promise<string> {
  const { submission_id = '' } = await client.submissions.create({
    applicant: {
      insured_name: 'Harrow Roofing LLC',
      contact_email: producerEmail,
      mailing_address: { line1: '12 Mill Lane', city: 'Austin', state: 'TX', zip: '78701' },
    },
    narrative: 'Repairs and replaces roofs of one- and two-storey houses.',
    lines_of_business: ['gl'],
    primary_state: 'tx',
    hold: true,
  })
  await step(`created ${submission_id}`)
  return submission_id
}

/** Answers the outstanding items and posts a message. The service replies later. */
async function converse(): Promise<void> {
  const { items = [] } = await client.submissions.outstanding(id)
  const answers = items.flatMap(({ key = '', input: widget, options }) => {
    if (widget === 'number') return [{ key, value: 500_000 }]
    return options?.[0] ? [{ key, value: options[0].value }] : []
  })
  const { applied = [] } = await client.submissions.answer(id, answers)
  await step(`answered ${applied.length}`)
  await client.submissions.post(id, { body: 'The loss runs are attached.', document_ids: [document.id] })
  await letPass(180)
  const directions: string[] = []
  for await (const message of client.submissions.allMessages(id)) directions.push(message.direction)
  expect(directions.includes('outbound'), true)
  await step('replied')
}

async function firstQuote(): Promise<string> {
  const { rail } = await client.submissions.requirements(id)
  const quote = rail?.lanes?.flatMap(({ quotes = [] }) => quotes.slice(-1))[0]
  if (!quote?.quote_id) throw new Error('no lane has a quote')
  return quote.quote_id
}

/** The instant quote is based on assumptions: the first answer lists them and keeps a draft. @returns the id of the draft. */
async function draft(): Promise<string> {
  const unconfirmed = await client.bind.create(id, { quote_id: quoteId }).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(unconfirmed instanceof AssumptionsUnconfirmed)) throw new Error('the quote has no assumptions', { cause: unconfirmed })
  await step(`drafted ${unconfirmed.bindRequestId}`)
  const request = await client.bind.create(id, { quote_id: quoteId, attest_assumptions: true })
  expect(request.bind_request_id, unconfirmed.bindRequestId)
  await step('attested')
  return request.bind_request_id
}

async function satisfy(): Promise<void> {
  let request = await client.bind.get(id, bindRequestId)
  for (const { id: contingencyId = '' } of request.contingencies)
    request = await client.bind.upload(id, bindRequestId, contingencyId, { file: lossRuns })
  expect(
    request.contingencies.every(({ status }) => status === 'satisfied'),
    true,
  )
  await step('satisfied')
}

async function readPolicy(): Promise<void> {
  const policyId = (await client.bind.get(id, bindRequestId)).policy_id ?? ''
  // The specification does not show the fields of these two.
  const policy = (await client.policies.get(policyId)) as { insured_id: string; documents: { download_path: string }[] }
  await client.insureds.get(policy.insured_id)
  const { stream } = await client.download(policy.documents[0]?.download_path ?? '')
  expect((await new Response(stream).text()).slice(0, 5), '%PDF-')
  const types: string[] = []
  for await (const event of client.submissions.allEvents(id)) types.push(event.type)
  expect(types.at(-1), 'bound')
  await step(`policy ${policyId}`)
}

async function step(line: string): Promise<void> {
  process.stdout.write(`${line}\n`)
  if (process.env['FOLLOW'] === 'yes') await typed.next()
}

/** Controls the emulator: time, quotes, and bind requests. */
async function admin(path: string, body: object): Promise<void> {
  const answer = await fetch(`${setting('ADMIN_URL')}${path}`, { method: 'POST', body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`)
}

async function letPass(seconds: number): Promise<void> {
  await admin('/clock', { advance_s: seconds })
}

function expect(seen: unknown, wanted: unknown): void {
  if (seen !== wanted) throw new Error(`expected ${String(wanted)}, got ${String(seen)}`)
}

function setting(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set`)
  return value
}
