import { PDFDocument } from 'pdf-lib'
import { expect, test } from 'vitest'
import { create, type Writer, world } from '../writer.ts'

async function quoted() {
  const made = await world()
  const id = await create(made.writer, 'Harrow Roofing LLC')
  made.pass(360)
  const lane = await laneOf(made.writer, id, 'Quickwell Commercial')
  return { ...made, id, lane, quoteId: lane.quotes[0].quote_id as string }
}

async function laneOf(writer: Writer, id: string, name: string) {
  const { body } = await writer.get(`/broker/submissions/${id}/requirements`)
  return body.rail.lanes.find(({ market_name }: { market_name: string }) => market_name === name)
}

test('trap 53: unconfirmed assumptions answer 409 with the kept draft; attested bit by bit, the same draft becomes whole', async () => {
  const { writer, id, quoteId } = await quoted()
  const path = `/broker/submissions/${id}/bind-requests`
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

test('a revision ends the draft of the quote that it replaces, and can be bound', async () => {
  const { writer, id, lane, quoteId } = await quoted()
  const path = `/broker/submissions/${id}/bind-requests`
  const draft = await writer.post(path, { quote_id: quoteId, attest_assumptions: true })
  const where = { submission_id: id, lane_id: lane.submission_market_id, firm: true, total_cents: 120_000 }
  const revision = await writer.admin('/quotes', where)
  expect(revision.body).toMatchObject({ is_revision: true, total_cents: 120_000 })
  expect((await writer.get(`${path}/${draft.body.bind_request_id}`)).body.status).toBe('expired')
  expect((await writer.post(path, { quote_id: revision.body.quote_id, attest_assumptions: true })).status).toBe(200)
})

test('trap 60, trap 79: bound makes an event, a policy and documents that open; it may go back from there', async () => {
  const { writer, id, quoteId } = await quoted()
  const { body } = await writer.post(`/broker/submissions/${id}/bind-requests`, { quote_id: quoteId, attest_assumptions: true })
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
