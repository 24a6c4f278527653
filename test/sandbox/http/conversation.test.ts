import { expect, test } from 'vitest'
import { Endpoint, sandboxFor } from '../support.ts'
import { create, matched, Writer, world } from '../writer.ts'

test('a thread post appears immediately, is answered minutes later, and its key is idempotent', async () => {
  const endpoint = await Endpoint.open()
  const { writer, sandbox, pass } = await world()
  const id = await create(writer, 'Harrow Roofing LLC')
  sandbox.account('default').target = endpoint.url
  const path = `/broker/submissions/${id}/thread`
  const post = await writer.post(path, { body: 'Payroll is $400k.' }, { 'idempotency-key': 'turn 1' })
  expect(post).toMatchObject({ status: 200, body: { status: 'received' } })
  const again = await writer.post(path, { body: 'Payroll is $400k.' }, { 'idempotency-key': 'turn 1' })
  expect(again.body).toEqual(post.body)
  const messages = async () => (await writer.get(path)).body.messages
  expect(await messages()).toMatchObject([{ id: post.body.message_id, direction: 'inbound', from: writer.producer }])
  pass(120)
  expect((await messages()).map(({ direction }: { direction: string }) => direction)).toEqual(['inbound', 'outbound'])
  await sandbox.deliveries.idle()
  expect(endpoint.contents.map(({ type }) => type)).toEqual(['submission.message', 'submission.message'])
})

test('an upload is a document with the same bytes, satisfies requirements, and can be attached', async () => {
  const { writer, id } = await matched()
  const bytes = new TextEncoder().encode('%PDF-1.4 loss runs')
  const stored = await writer.upload(`/broker/submissions/${id}/documents`, { display_name: 'Loss runs 2026' }, { name: 'a.pdf', bytes })
  expect(stored.body).toMatchObject({ display_name: 'Loss runs 2026', size_bytes: bytes.length, content_type: 'application/pdf' })
  const file = await writer.raw(stored.body.download_path)
  expect(new Uint8Array(await file.arrayBuffer())).toEqual(bytes)
  const view = (await writer.get(`/broker/submissions/${id}/requirements`)).body
  expect(view.documents_on_file).toEqual([{ kind: 'loss_runs', kind_label: 'Loss runs', display_name: 'Loss runs 2026' }])
  const alder = view.markets.find(({ market_name }: { market_name: string }) => market_name === 'Alder Point Specialty')
  expect(alder).toMatchObject({ ready: true, needs_from_you: [] })
  const posted = await writer.post(`/broker/submissions/${id}/thread`, { body: 'Here', document_ids: [stored.body.id] })
  expect(posted.status).toBe(200)
  const { messages } = (await writer.get(`/broker/submissions/${id}/thread`)).body
  expect(messages.at(-1).attachments).toEqual([{ name: 'Loss runs 2026', download_path: stored.body.download_path }])
  const none = await writer.upload(`/broker/submissions/${id}/documents`, {})
  expect(none).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'file'], type: 'missing' }] } })
})

test('answers are applied, skipped or routed; applied items vanish, and the lane continues to its quote', async () => {
  const { writer, pass, id } = await matched()
  const outstanding = async () => (await writer.get(`/broker/submissions/${id}/outstanding-requirements`)).body
  const { items } = await outstanding()
  expect(items).toContainEqual(expect.objectContaining({ key: 'question:annual_revenue', input: 'number', markets: ['Beacon Direct'] }))
  const lossRuns = items.find(({ input }: { input: string }) => input === 'file').key
  const answers = [
    { key: 'question:annual_revenue', value: 'a lot' },
    { key: 'question:annual_revenue', value: 900_000 },
    { key: 'question:annual_revenue', value: 900_000 },
    { key: lossRuns, value: 'none' },
    { key: 'unknown', value: 1 },
  ]
  const { body } = await writer.post(`/broker/submissions/${id}/outstanding-requirements/answers`, { answers })
  expect(body).toMatchObject({ applied: ['question:annual_revenue'], routed: 1 })
  expect(body.skipped.map(({ key }: { key: string }) => key)).toEqual([
    'question:annual_revenue',
    'question:annual_revenue',
    lossRuns,
    'unknown',
  ])
  expect((await outstanding()).items.map(({ key }: { key: string }) => key)).not.toContain('question:annual_revenue')
  const beacon = async () =>
    (await writer.get(`/broker/submissions/${id}/requirements`)).body.rail.lanes.find(
      ({ market_name }: { market_name: string }) => market_name === 'Beacon Direct',
    )
  expect(await beacon()).toMatchObject({ chip: 'in_progress', gapped: false, submit_ready: true })
  pass(60)
  expect((await beacon()).chip).toBe('quoted')
})

test('a reply with a file of any name resolves the outstanding item', async () => {
  const { writer, id } = await matched()
  const files = async () =>
    (await writer.get(`/broker/submissions/${id}/outstanding-requirements`)).body.items.filter(
      ({ how_to_provide }: { how_to_provide: string }) => how_to_provide === 'Reply in the thread with the file',
    )
  expect(await files()).toHaveLength(1)
  const bytes = new TextEncoder().encode('%PDF-1.4')
  const { body } = await writer.upload(`/broker/submissions/${id}/documents`, {}, { name: 'scan.pdf', bytes })
  expect(await files()).toHaveLength(1)
  await writer.post(`/broker/submissions/${id}/thread`, { body: 'Here it is.' })
  expect(await files()).toHaveLength(1)
  await writer.post(`/broker/submissions/${id}/thread`, { body: 'Here it is.', document_ids: [body.id] })
  expect(await files()).toEqual([])
  const { markets } = (await writer.get(`/broker/submissions/${id}/requirements`)).body
  expect(markets.find(({ market_name }: { market_name: string }) => market_name === 'Alder Point Specialty')).toMatchObject({ ready: true })
})

test('a held submission accepts answers and files before it is finalized', async () => {
  const { writer, pass } = await world()
  const id = await create(writer, 'Harrow Roofing LLC', { hold: true })
  const outstanding = async () => (await writer.get(`/broker/submissions/${id}/outstanding-requirements`)).body
  expect(await outstanding()).toMatchObject({
    items: [
      { key: 'question:annual_revenue', input: 'number', markets: ['Beacon Direct'] },
      { label: 'Five years of currently valued loss runs', input: 'file', markets: ['Alder Point Specialty'] },
    ],
    answerable_count: 1,
  })
  const answers = [{ key: 'question:annual_revenue', value: 900_000 }]
  const answered = await writer.post(`/broker/submissions/${id}/outstanding-requirements/answers`, { answers })
  expect(answered.body).toMatchObject({ applied: ['question:annual_revenue'], skipped: [] })
  const bytes = new TextEncoder().encode('%PDF-1.4')
  await writer.upload(`/broker/submissions/${id}/documents`, { display_name: 'Loss runs 2026' }, { name: 'a.pdf', bytes })
  expect((await outstanding()).items).toEqual([])
  await writer.post(`/broker/submissions/${id}/finalize`)
  pass(300)
  expect((await outstanding()).items).toEqual([])
  const { markets } = (await writer.get(`/broker/submissions/${id}/requirements`)).body
  expect(markets.map(({ ready }: { ready: boolean }) => ready)).not.toContain(false)
})

test('trap 63: the sandbox can be matched without a visible market', async () => {
  const { writer, sandbox, id } = await matched()
  const { lanes } = (await writer.get(`/broker/submissions/${id}/requirements`)).body.rail
  for (const { submission_market_id } of lanes) sandbox.world.submission('default', id).hideLane(submission_market_id)
  expect((await writer.get(`/broker/submissions/${id}/requirements`)).body).toMatchObject({ marketing_status: 'matched', markets: [] })
})

test('generated submissions accept writes too', async () => {
  const sandbox = await sandboxFor({ submissions: 3 })
  const writer = await new Writer(sandbox).login()
  const id = sandbox.submissionIds('default')[0] ?? ''
  expect((await writer.post(`/broker/submissions/${id}/thread`, { body: 'Any news?' })).status).toBe(200)
})
