import { expect, test } from 'vitest'
import { programs } from '../../../src/sandbox/world/catalogue.ts'
import { brief, create, Writer, world } from '../writer.ts'

test('trap 62: a created submission proceeds automatically: no markets while matching, then lanes in three categories, a clearance mail, an instant quote', async () => {
  const { writer, pass } = await world()
  const id = await create(writer, 'Harrow Roofing LLC')
  const view = async () => (await writer.get(`/broker/submissions/${id}/requirements`)).body
  expect(await view()).toMatchObject({ marketing_status: 'matching', markets: [], rail: null, state: 'TX', lines: ['general_liability'] })
  pass(299)
  expect((await view()).marketing_status).toBe('matching')
  pass(1)
  const matched = await view()
  expect(matched.marketing_status).toBe('matched')
  expect(new Set(matched.markets.map((market: { program_category: string }) => market.program_category))).toEqual(
    new Set(['instant_quote', 'binding', 'specialty']),
  )
  const events = await writer.get(`/broker/submissions/${id}/events`)
  expect(events.body.events.map(({ type }: { type: string }) => type)).toEqual(matched.markets.map(() => 'market_attached'))
  const thread = await writer.get(`/broker/submissions/${id}/thread`)
  expect(thread.body.messages).toMatchObject([{ kind: 'initial_clearance', direction: 'outbound', to: [writer.producer] }])
  for (const { market_name } of matched.markets) expect(thread.body.messages[0].body_text).toContain(market_name)
  pass(60)
  const lane = (await view()).rail.lanes.find(({ program }: { program: string }) => program === 'Quickwell Main Street')
  expect(lane).toMatchObject({ chip: 'quoted', quotes: [{ is_revision: false }] })
  const later = await writer.get(`/broker/submissions/${id}/events`)
  expect(later.body.events.at(-1)).toMatchObject({ type: 'quote_received', market: { lane_id: lane.submission_market_id } })
})

test('lines or states without a market end in no_markets_matched', async () => {
  const { writer, pass } = await world()
  const air = await create(writer, 'Silverlake Air LLC', { lines_of_business: ['aviation'] })
  const far = await create(writer, 'Bluestem North LLC', { primary_state: 'AK' })
  pass(300)
  for (const id of [air, far]) {
    const { body } = await writer.get(`/broker/submissions/${id}/requirements`)
    expect(body).toMatchObject({ marketing_status: 'no_markets_matched', markets: [] })
  }
})

// `conformance/cases/creating.ts` covers limits and specified errors.
test('incomplete bodies are refused, and create nothing', async () => {
  const { writer, sandbox } = await world()
  const address = { line1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
  const bad: [object, string][] = [
    [{ narrative: undefined }, 'narrative'],
    [{ applicant: {} }, 'insured_name'],
    [{ applicant: { insured_name: 'A', mailing_address: { ...address, zip: undefined } } }, 'zip'],
    [{ locations: [1, 1].map((location_number) => ({ location_number, address })) }, 'unique'],
  ]
  for (const [more, word] of bad) {
    const answer = await writer.post('/broker/submissions', brief('A LLC', more))
    expect([answer.status, JSON.stringify(answer.body)], JSON.stringify(more)).toEqual([422, expect.stringContaining(word)])
  }
  expect(sandbox.submissionIds('default')).toEqual([])
})

test('trap 53: a live file of the same insured gets 409 with its id, and retries create nothing', async () => {
  const { writer, sandbox } = await world()
  const id = await create(writer, 'Ostrander LLC')
  for (const name of ['Ostrander LLC', 'ostrander llc']) {
    const answer = await writer.post('/broker/submissions', brief(name))
    expect(answer).toMatchObject({ status: 409, body: { detail: { code: 'service_file_exists', submission_id: id } } })
    expect(answer.body.detail).not.toHaveProperty('programs')
  }
  expect(sandbox.submissionIds('default')).toEqual([id])
})

test('a rater file quotes only the chosen programs; siblings are allowed unless a market quotes the same line', async () => {
  const { sandbox, pass } = await world()
  const partner = await new Writer(sandbox).login('partner')
  const idOf = (slug: string) => programs.find(({ market }) => market.slug === slug)?.programId ?? ''
  const rater = (slugs: string[], more = {}) => ({ mode: 'rater', partner_program_ids: slugs.map(idOf), ...more })
  const id = await create(partner, 'Kowalczyk LLC', rater(['quickwell', 'stonegate']))
  pass(600)
  expect((await partner.get(`/broker/submissions/${id}/requirements`)).body.marketing_status).toBe('not_started')
  await partner.post(`/broker/submissions/${id}/finalize`)
  pass(300)
  const view = await partner.get(`/broker/submissions/${id}/requirements`)
  expect(view.body.markets.map(({ market_name }: { market_name: string }) => market_name)).toEqual([
    'Quickwell Commercial',
    'Stonegate Mutual',
  ])
  await create(partner, 'Kowalczyk LLC', rater(['alder-point']))
  const collides = await partner.post('/broker/submissions', brief('Kowalczyk LLC', rater(['beacon-direct', 'quickwell'])))
  const reasons = ['market_line_on_live_file', 'carrier_application_on_live_file']
  expect(collides).toMatchObject({ status: 409, body: { detail: { code: 'service_file_exists', submission_id: id } } })
  expect(collides.body.detail.programs).toEqual([{ program_id: idOf('quickwell'), reasons, submission_ids: [id] }])
  for (const more of [rater([]), rater(['quickwell', 'quickwell']), rater(['quickwell'], { primary_state: undefined })])
    expect((await partner.post('/broker/submissions', brief('Other LLC', more))).status).toBe(422)
})

test('intake accepts text and files', async () => {
  const { writer, pass } = await world()
  const made = await writer.upload(
    '/broker/intake',
    { text: 'Larkspur Grill LLC, TX. A restaurant.' },
    { name: 'Loss runs.pdf', bytes: new Uint8Array([37]) },
  )
  expect(made.status).toBe(200)
  pass(300)
  const { body } = await writer.get(`/broker/submissions/${made.body.submission_id}/requirements`)
  expect(body).toMatchObject({ insured_name: 'Larkspur Grill LLC', state: 'TX', marketing_status: 'matched' })
  expect(body.documents_on_file).toEqual([{ kind: 'loss_runs', kind_label: 'Loss runs', display_name: 'Loss runs.pdf' }])
  expect((await writer.upload('/broker/intake', {})).status).toBe(422)
})

test('the detail contains only a sent tax id; the markets read groups the lanes', async () => {
  const { writer, pass } = await world()
  const id = await create(writer, 'Harrow Roofing LLC', { applicant: { insured_name: 'Harrow Roofing LLC', fein_or_ssn: '12-3456789' } })
  const other = await create(writer, 'Cedar Hollow LLC')
  const fein = async (of: string) => (await writer.get(`/broker/submissions/${of}`)).body.applicant.fein
  expect([await fein(id), await fein(other)]).toEqual(['12-3456789', null])
  const markets = async () => (await writer.get(`/broker/submissions/${id}/markets`)).body
  const before = await markets()
  expect([before.engaged, before.declined]).toEqual([[], []])
  expect(before.available.length).toBeGreaterThan(2)
  pass(300)
  const after = await markets()
  const names = (list: { market_name: string }[]) => list.map(({ market_name }) => market_name).sort()
  expect(names(after.engaged)).toEqual(names(before.available))
  expect([after.declined, after.available]).toEqual([[], []])
})
