import { PDFDocument } from 'pdf-lib'
import { expect, test } from 'vitest'
import { matched, type Writer } from '../writer.ts'

async function quoted() {
  const made = await matched(360)
  const lane = await laneOf(made.writer, made.id, 'Quickwell Commercial')
  const path = `/broker/submissions/${made.id}/bind-requests`
  return { ...made, lane, path, quoteId: lane.quotes[0].quote_id as string }
}

async function laneOf(writer: Writer, id: string, name: string) {
  const { body } = await writer.get(`/broker/submissions/${id}/requirements`)
  return body.rail.lanes.find(({ market_name }: { market_name: string }) => market_name === name)
}

test('trap 53: unconfirmed assumptions get 409 with the draft; step by step, the same draft is confirmed', async () => {
  const { writer, path, quoteId } = await quoted()
  const first = await writer.post(path, { quote_id: quoteId })
  expect(first).toMatchObject({ status: 409, body: { detail: { code: 'assumptions_unconfirmed' } } })
  const { bind_request_id, unconfirmed_assumptions: assumptions } = first.body.detail
  expect(assumptions).toContainEqual({ key: 'years_in_business', label: 'Years in business', value: 12 })
  const second = await writer.post(path, { quote_id: quoteId, attest_assumptions: ['years_in_business'] })
  expect(second.body.detail.bind_request_id).toBe(bind_request_id)
  expect(second.body.detail.unconfirmed_assumptions).toHaveLength(assumptions.length - 1)
  const kept = await writer.get(`${path}/${bind_request_id}`)
  expect(kept.body).toMatchObject({ status: 'drafted', requested_by: writer.producer, policy_id: null })
  const third = await writer.post(path, { quote_id: quoteId, attest_assumptions: true, payment_option: 'annual' })
  expect(third).toMatchObject({ status: 200, body: { bind_request_id, unconfirmed_assumptions: [], payment_option: 'annual' } })
})

test('a revised quote expires the draft of the old one, and can be bound', async () => {
  const { writer, id, lane, path, quoteId } = await quoted()
  const draft = await writer.post(path, { quote_id: quoteId, attest_assumptions: true })
  const where = { submission_id: id, lane_id: lane.submission_market_id, firm: true, total_cents: 120_000 }
  const revision = await writer.admin('/quotes', where)
  expect(revision.body).toMatchObject({ is_revision: true, total_cents: 120_000 })
  expect((await writer.get(`${path}/${draft.body.bind_request_id}`)).body.status).toBe('expired')
  expect((await writer.post(path, { quote_id: revision.body.quote_id, attest_assumptions: true })).status).toBe(200)
})

test('trap 60, trap 79: bound creates an event, a policy and documents; the status may go back', async () => {
  const { writer, id, path, quoteId } = await quoted()
  const { body } = await writer.post(path, { quote_id: quoteId, attest_assumptions: true })
  for (const to of ['submitted', 'sent', 'binder_received']) {
    const moved = await writer.admin('/bind', { bind_request_id: body.bind_request_id, to })
    expect(moved.body).toMatchObject({ status: to, policy_id: null })
  }
  const bound = await writer.admin('/bind', { bind_request_id: body.bind_request_id, to: 'bound' })
  const policy = await writer.get(`/broker/policies/${bound.body.policy_id}`)
  expect(policy.body).toMatchObject({ policy_id: bound.body.policy_id, submission_id: id })
  const events = await writer.get(`/broker/submissions/${id}/events`)
  expect(events.body.events.at(-1)).toMatchObject({ type: 'bound', status: 'bound' })
  expect((await laneOf(writer, id, 'Quickwell Commercial')).bound).toBe(true)
  const { documents_on_file: onFile } = (await writer.get(`/broker/submissions/${id}/requirements`)).body
  expect(policy.body.documents.map(({ name }: { name: string }) => name)).toEqual(
    onFile.map(({ display_name }: { display_name: string }) => display_name),
  )
  for (const { name, download_path } of policy.body.documents) {
    const file = await writer.raw(download_path)
    expect(file.headers.get('content-type')).toBe('application/pdf')
    const bytes = await file.arrayBuffer()
    expect((await PDFDocument.load(bytes)).getPageCount()).toBe(1)
    expect(Buffer.from(bytes).toString()).toContain(`${name} of Quickwell`)
  }
  const insured = await writer.get(`/broker/insureds/${policy.body.insured_id}`)
  expect(insured.body.policies).toEqual([{ policy_id: bound.body.policy_id, submission_id: id }])
  await writer.admin('/bind', { bind_request_id: body.bind_request_id, to: 'bind_failed' })
  expect((await writer.get(`/broker/policies/${bound.body.policy_id}`)).status).toBe(404)
})

async function draft(writer: Writer, path: string, quote_id: string): Promise<string> {
  return (await writer.post(path, { quote_id })).body.detail.bind_request_id
}

async function sign(writer: Writer, path: string, id: string): Promise<void> {
  const { body } = await writer.get(`${path}/${id}`)
  for (const { upload_path } of body.contingencies)
    await writer.upload(upload_path, {}, { name: 'signed.pdf', bytes: new TextEncoder().encode('%PDF-1.7') })
}

test('a confirmed draft with satisfied contingencies is submitted; the admin route changes its status', async () => {
  const { writer, path, quoteId } = await quoted()
  const id = await draft(writer, path, quoteId)
  const first = await writer.post(`${path}/${id}/submit`, { attest_assumptions: ['prior_losses'] })
  expect(first).toMatchObject({ status: 409, body: { detail: { code: 'assumptions_unconfirmed', bind_request_id: id } } })
  const left = first.body.detail.unconfirmed_assumptions.map(({ key }: { key: string }) => key)
  expect(left).not.toContain('prior_losses')
  const open = await writer.post(`${path}/${id}/submit`, { attest_assumptions: left })
  expect(open).toMatchObject({ status: 409, body: { detail: 'This bind request still needs: Signed application; the draft is kept' } })
  await sign(writer, path, id)
  const done = await writer.post(`${path}/${id}/submit`)
  expect(done).toMatchObject({ status: 200, body: { bind_request_id: id, status: 'drafted', unconfirmed_assumptions: [], next_steps: [] } })
  await writer.admin('/bind', { bind_request_id: id, to: 'submitted' })
  expect((await writer.post(`${path}/${id}/submit`, { attest_assumptions: true })).status).toBe(409)
})

test('invalid status changes are refused in one sentence, and change nothing', async () => {
  const { writer, path, quoteId } = await quoted()
  const id = await draft(writer, path, quoteId)
  const move = (to: string) => writer.admin('/bind', { bind_request_id: id, to })
  for (const [to, refused] of [
    ['sent', ['drafted', 'submitted']],
    ['bound', ['drafted', 'sent', 'declined']],
    ['cancelled', ['drafted', 'bound']],
  ] as const) {
    expect((await move(to)).status).toBe(200)
    for (const next of refused) {
      const answer = await move(next)
      expect(answer).toMatchObject({ status: 400, body: { detail: `bind request ${id} is ${to}, and cannot become ${next} from there` } })
      expect((await writer.get(`${path}/${id}`)).body.status).toBe(to)
    }
  }
})

test('contingencies accept only PDFs', async () => {
  const { writer, path, quoteId } = await quoted()
  const { body } = await writer.get(`${path}/${await draft(writer, path, quoteId)}`)
  const [{ upload_path }] = body.contingencies
  const refused = await writer.upload(upload_path, {}, { name: 'signed.pdf', bytes: new TextEncoder().encode('PK a document') })
  expect(refused).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'file'], msg: 'The file is no PDF' }] } })
})
