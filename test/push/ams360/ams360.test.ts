import type { ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Clock, ManualClock, systemClock } from '../../../src/base/clock.ts'
import { Secret } from '../../../src/base/secret.ts'
import type { Ams360Destination } from '../../../src/config/config.ts'
import type { DeliveryKind, Outcome, PushItem } from '../../../src/push/contract/delivery.ts'
import { createAms360 } from '../../../src/push/kinds/ams360.ts'
import { type Ams360Emulator, startAms360 } from '../../emulators/ams360.ts'
import { silentLog } from '../../tools/databases.ts'
import { PATIENCE_MS, until } from '../../tools/until.ts'
import { commonSettings } from '../common-settings.ts'
import { itemOf, serve } from '../http/support.ts'

const CUSTOMER = '4491edb1-3d68-468b-8adc-0d41c04a25e9'
const OTHER = '5591edb1-3d68-468b-8adc-0d41c04a25e9'
const POLICY = '6691edb1-3d68-468b-8adc-0d41c04a25e9'
const PASSWORD = 'p&ss<word>"'
const ENVELOPE = '<s:Envelope><s:Body><Ticket>t</Ticket><NoteId>n</NoteId></s:Body></s:Envelope>'

async function emulator(): Promise<Ams360Emulator> {
  const ams = await startAms360({
    agency: '8880006-1',
    user: 'wsapi',
    password: PASSWORD,
    customers: [
      { id: CUSTOMER, number: 5544, name: 'Harbour Bakery LLC', policies: [POLICY] },
      { id: OTHER, number: 17, name: 'Another' },
    ],
  })
  onTestFinished(() => ams.close())
  return ams
}

function destinationTo(url: string, own: Partial<Ams360Destination> = {}): Ams360Destination {
  return {
    ...commonSettings,
    name: 'ams',
    kind: 'ams360',
    url,
    accounts: ['acme'],
    mapping: 'required',
    timeoutMs: PATIENCE_MS,
    scheduleMs: [1_000],
    concurrency: 4,
    idempotent: false,
    agency: '8880006-1',
    user: 'wsapi',
    password: new Secret(PASSWORD),
    employee: null,
    customerField: null,
    namespace: 'http://www.WSAPI.AMS360.com/v3.0',
    ...own,
  }
}

function open(ams: Pick<Ams360Emulator, 'url'>, own: Partial<Ams360Destination> = {}, clock: Clock = systemClock): DeliveryKind {
  const kind = createAms360(destinationTo(ams.url, own), { clock, log: silentLog, proxy: {} })
  onTestFinished(() => kind.close())
  return kind
}

const signal = new AbortController().signal
const mapped = (client: string, own: Partial<PushItem> = {}): PushItem => itemOf({ mapping: { client, policy: null, fields: {} }, ...own })

async function send(kind: DeliveryKind, item: PushItem = mapped(CUSTOMER)): Promise<Outcome | undefined> {
  return (await kind.send([item], signal))[0]
}

describe('notes of AMS360', () => {
  it('signs in once, and writes a note of the mapped customer, with every character of the change', async () => {
    const ams = await emulator()
    const kind = open(ams)
    const detail = 'Quote "A" & <B> ]]> \r\n\tünïcode \u0000 \ud800 </d:NoteText>'
    const item = mapped(CUSTOMER, { after: { detail, occurred_at: '2026-03-04T05:06:00.000000Z', status: null, market_lines: ['gl'] } })
    const outcome = await send(kind, item)
    expect(outcome).toEqual({ type: 'delivered', status: 200, remoteId: ams.notes[0]?.id, detail: null })
    expect(ams.notes).toMatchObject([{ customer: CUSTOMER, date: '2026-03-04T00:00:00', policy: undefined }])
    expect(ams.notes[0]?.text.split('\n')).toEqual([
      `Submission ${item.submissionId}: market_events insert`,
      'detail: Quote "A" & <B> ]]> \r',
      '\tünïcode \ufffd \ufffd </d:NoteText>',
      'occurred_at: 2026-03-04T05:06:00.000000Z',
      'market_lines: ["gl"]',
      `submission-mirror ${item.messageId}`,
    ])
    await send(kind, mapped(CUSTOMER, { direction: 'sent', entity: 'thread_messages' }))
    expect(ams.notes[1]?.text).toContain('thread_messages insert, sent by the agency')
    expect(ams.operations()).toEqual(['Login', 'CustomerNoteInsert', 'CustomerNoteInsert'])
  })

  it('looks a customer up by its number once, and attaches the note to the policy of the mapping', async () => {
    const ams = await emulator()
    const kind = open(ams)
    const item = mapped('5544', { mapping: { client: '5544', policy: POLICY, fields: {} } })
    for (const _ of [1, 2]) expect(await send(kind, item)).toMatchObject({ type: 'delivered' })
    expect(ams.notes).toMatchObject([1, 2].map(() => ({ customer: CUSTOMER, policy: POLICY })))
    expect(ams.operations()).toEqual(['Login', 'CustomerGetByNumber', 'CustomerNoteInsert', 'CustomerNoteInsert'])
  })

  it('never selects a customer by name, and names the unusable mapping', async () => {
    const ams = await emulator()
    const kind = open(ams)
    for (const client of ['Harbour Bakery LLC', '99', '0', '-1', '5544 OR 1=1', OTHER.replace('5', '7')]) {
      const permanent = { type: 'failed', permanent: true }
      expect(await send(kind, mapped(client)), client).toMatchObject(permanent)
    }
    expect(ams.operations().filter((name) => name.includes('Name'))).toEqual([])
    const unknown = { permanent: true, error: expect.stringContaining('PolicyId') }
    expect(await send(kind, mapped(CUSTOMER, { mapping: { client: CUSTOMER, policy: 'BOP-1', fields: {} } }))).toMatchObject(unknown)
    expect(ams.notes).toEqual([])
  })

  it('finds the mapping by the number or the id in the field that the settings name, and by nothing else', async () => {
    const ams = await emulator()
    const lookup = { mapping: 'lookup', customerField: 'insured_name' } as const
    const kind = open(ams, lookup)
    const find = (value: string | null) => kind.findMapping?.(itemOf({ submission: { insured_name: value } }), signal)
    expect(await find('5544')).toEqual({ client: CUSTOMER, policy: null, fields: {} })
    expect(await find(OTHER.toUpperCase())).toEqual({ client: OTHER, policy: null, fields: {} })
    for (const value of ['Harbour Bakery LLC', '404', null, '']) expect(await find(value)).toBeNull()
    expect(await kind.findMapping?.(itemOf({ submission: null }), signal)).toBeNull()
    ams.withdraw()
    await expect(find('18')).rejects.toMatchObject({ failure: { type: 'suspend' } })
  })

  it('renews a ticket that has ended, once for all who wait, and writes each note once', async () => {
    const ams = await emulator()
    const kind = open(ams)
    await send(kind)
    ams.expire()
    const outcomes = await Promise.all([1, 2, 3].map((seq) => send(kind, mapped(CUSTOMER, { seq }))))
    expect(outcomes.map((outcome) => outcome?.type)).toEqual(['delivered', 'delivered', 'delivered'])
    expect(ams.notes).toHaveLength(4)
    expect(ams.operations().filter((name) => name === 'Login')).toHaveLength(2)
  })

  it('signs in within a time limit of its own for all waiting senders: one that began earlier times out alone', async () => {
    const asked = Promise.withResolvers<ServerResponse>()
    let [shiftMs, logins] = [0, 0]
    const { baseUrl } = await serve(({ body }, response) => {
      if (body.includes('<Login') && ++logins === 2) return asked.resolve(response)
      if (!body.includes('<CustomerGetByNumber')) return void response.end(ENVELOPE)
      shiftMs = 29_800
      response.end(ENVELOPE.replace('<Ticket>', '<Fault><WSAPISecurityFault/></Fault><Ticket>'))
    })
    const clock = { ...systemClock, now: () => systemClock.now() + shiftMs, steady: () => systemClock.steady() + shiftMs }
    const kind = open({ url: baseUrl }, { timeoutMs: 30_000 }, clock)
    const early = send(kind, mapped('5544'))
    const login = await asked.promise
    const late = send(kind)
    expect(await early).toMatchObject({ type: 'failed', permanent: false, alive: false })
    login.end(ENVELOPE)
    expect(await late).toMatchObject({ type: 'delivered' })
    expect(logins).toBe(2)
  })

  it('stops waiting for the shared sign-in when it is canceled', async () => {
    const asked = Promise.withResolvers<void>()
    const { baseUrl } = await serve(() => asked.resolve())
    const kind = open({ url: baseUrl }, { timeoutMs: 30_000 })
    const over = new AbortController()
    const sending = kind.send([mapped(CUSTOMER)], over.signal)
    await asked.promise
    over.abort()
    expect((await sending)[0]).toMatchObject({ type: 'failed', permanent: false, alive: false })
  })

  it('suspends the destination when the agency withdraws the user, and does not show the password', async () => {
    const ams = await emulator()
    const kind = open(ams)
    await send(kind)
    ams.withdraw()
    const outcome = await send(kind)
    expect(outcome).toMatchObject({ type: 'suspend', status: 500, error: expect.stringContaining('could not be authenticated') })
    expect(JSON.stringify(outcome)).not.toContain('p&ss')
  })

  it('is suspended when the user lacks a right, and rejects only this change for an error of the change', async () => {
    const ams = await emulator()
    const kind = open(ams)
    ams.mayWrite(false)
    expect(await send(kind)).toMatchObject({ type: 'suspend', retry: 'soon', error: expect.stringContaining('may not insert notes') })
    expect(ams.operations()).toEqual(['Login', 'CustomerNoteInsert', 'Login', 'CustomerNoteInsert'])
    ams.mayWrite(true)
    ams.faultNext('Business')
    expect(await send(kind)).toMatchObject({ type: 'failed', permanent: true, alive: true, status: 500 })
    expect(await send(kind, mapped(CUSTOMER))).toMatchObject({ type: 'delivered' })
  })

  it('accepts no client if the answer has two candidates', async () => {
    const { baseUrl } = await serve(({ body }, response) => {
      const customer = (id: string) => `<Customer><CustomerId>${id}</CustomerId><CustomerNumber>5544</CustomerNumber></Customer>`
      response.end(
        `<s:Envelope><s:Body>${body.includes('<Login') ? '<Ticket>t</Ticket>' : customer(OTHER) + customer(CUSTOMER)}</s:Body></s:Envelope>`,
      )
    })
    const error = 'AMS360 has several customers with the number 5544; map the submission to a CustomerId instead'
    expect(await send(open({ url: baseUrl }), mapped('5544'))).toMatchObject({ type: 'failed', permanent: true, error })
  })

  it.each([401, 403, 404, 405])('takes %i of a server before AMS360 for no refusal of the change', async (status) => {
    const { baseUrl } = await serve(({ body }, response) => {
      if (body.includes('<Login')) response.end(ENVELOPE)
      else response.writeHead(status).end('no')
    })
    expect(await send(open({ url: baseUrl }))).toMatchObject({ type: 'suspend', retry: 'soon', status })
  })

  it('shows neither the ticket nor possible secrets of a fault', async () => {
    const { baseUrl } = await serve(({ body }, response) => {
      const said = `Session ${OTHER} may not write 12-3456789 of ${'k3y'.repeat(8)} as a note.`
      const fault = `<s:Fault><WSAPIBusinessFault><Message>${said}</Message></WSAPIBusinessFault></s:Fault>`
      response.end(`<s:Envelope><s:Body>${body.includes('<Login') ? `<Ticket>${OTHER}</Ticket>` : fault}</s:Body></s:Envelope>`)
    })
    const error = 'AMS360 answered CustomerNoteInsert with a fault (Session […] may not write […] of […] as a note.)'
    expect(await send(open({ url: baseUrl }))).toMatchObject({ type: 'failed', permanent: true, error })
  })

  it('has an unknown outcome for a note whose answer was lost, and does not send it again', async () => {
    const ams = await emulator()
    const clock = new ManualClock(Date.now())
    const kind = open(ams, { timeoutMs: PATIENCE_MS }, clock)
    const inserts = () => ams.operations().filter((name) => name === 'CustomerNoteInsert').length
    await send(kind)
    for (const fault of ['lose', 'hang', 'drop', 'refuse'] as const) {
      const before = inserts()
      ams.fail(fault)
      const sending = send(kind)
      if (fault === 'hang') {
        await until('it is asked', () => inserts() > before)
        clock.advance(PATIENCE_MS)
      }
      expect(await sending, fault).toMatchObject({ type: 'unknown' })
    }
    ams.faultNext('General')
    expect(await send(kind)).toMatchObject({ type: 'unknown', status: 500, error: expect.stringContaining('kind General') })
    expect(ams.notes).toHaveLength(3)
    expect(inserts()).toBe(6)
    expect(kind.lookUp).toBeUndefined()
  })

  it('has an unknown outcome for an incomplete answer, and retries later if the request changes nothing', async () => {
    let long = 'CustomerNoteInsert'
    const { baseUrl } = await serve(({ body }, response) => {
      const padding = body.includes(`<${long}`) ? 'x'.repeat(256 * 1024) : ''
      response.end(`<s:Envelope><s:Body>${padding}<Ticket>t</Ticket><NoteId>n</NoteId></s:Body></s:Envelope>`)
    })
    const kind = open({ url: baseUrl })
    const why = 'answered 200, but the answer is longer than 262144 bytes'
    expect(await send(kind)).toEqual({ type: 'unknown', status: 200, error: why })
    long = 'CustomerGetByNumber'
    expect(await send(kind, mapped('5544'))).toMatchObject({ type: 'failed', permanent: false, error: why })
  })

  it('has an unknown outcome for a note whose answer ends before its envelope does', async () => {
    const { baseUrl } = await serve(({ body }, response) =>
      response.end(body.includes('<Login') ? ENVELOPE : ENVELOPE.replace('</s:Body></s:Envelope>', '')),
    )
    const error = 'answered 200, but without a SOAP envelope'
    expect(await send(open({ url: baseUrl }))).toEqual({ type: 'unknown', status: 200, error })
  })

  it('reads characters however the answer writes them', async () => {
    const headers: string[] = []
    const { baseUrl } = await serve(({ body }, response) => {
      headers.push(/<Ticket[^>]*>(.*)<\/Ticket>/.exec(body)?.[1] ?? '')
      response.end(ENVELOPE.replace('<Ticket>t<', '<Ticket>&#x41;&#66;&amp;&lt;&#x1F600;&#0;&#x110000;<'))
    })
    expect(await send(open({ url: baseUrl }))).toMatchObject({ type: 'delivered' })
    expect(headers).toEqual(['', 'AB&amp;&lt;😀��'])
  })

  it('retries later with the same ticket when signing in left too little time for the note', async () => {
    let shiftMs = 0
    const asked: string[] = []
    const { baseUrl } = await serve(({ body }, response) => {
      asked.push(/<(Login|Customer\w+)/.exec(body)?.[1] ?? '')
      if (body.includes('<Login')) shiftMs = 29_000
      response.end(ENVELOPE)
    })
    const clock = { ...systemClock, now: () => systemClock.now() + shiftMs, steady: () => systemClock.steady() + shiftMs }
    const kind = open({ url: baseUrl }, { timeoutMs: 30_000 }, clock)
    expect(await send(kind)).toMatchObject({
      type: 'failed',
      permanent: false,
      error: 'the requests of this attempt took longer than 30000 ms',
    })
    expect(await send(kind)).toMatchObject({ type: 'delivered' })
    expect(asked.filter((name) => name === 'Login' || name === 'CustomerNoteInsert')).toEqual(['Login', 'CustomerNoteInsert'])
  })

  it('retries later if nothing was sent: no server, a busy one, a login without answer', async () => {
    const ams = await emulator()
    const kind = open(ams)
    ams.fail('busy')
    expect(await send(kind)).toMatchObject({ type: 'failed', permanent: false, alive: true, status: 429, retryAfterMs: 2_000 })
    const elsewhere = open(ams, { url: ams.url.replace('WSAPIService', 'Service') })
    expect(await send(elsewhere)).toMatchObject({ type: 'suspend', status: 404 })
    await ams.close()
    expect(await send(kind)).toMatchObject({ type: 'failed', permanent: false, alive: false })
    expect(await send(open(ams))).toMatchObject({ type: 'failed', permanent: false, alive: false })
  })

  it('says in a probe whether the user is let in, and writes nothing', async () => {
    const ams = await emulator()
    expect(await open(ams).probe(signal)).toEqual({ ok: true, text: 'agency 8880006-1 accepts the login of user wsapi' })
    const wrong = open(ams, { password: new Secret('other') })
    expect(await wrong.probe(signal)).toMatchObject({ ok: false, text: expect.stringMatching(/^AMS360 rejects the credentials \(/) })
    expect(ams.operations()).toEqual(['Login', 'Login'])
  })
})
