import { expect, test } from 'vitest'
import { create, type Writer, world } from '../writer.ts'

async function quoted(market: string, more: object) {
  const made = await world()
  const id = await create(made.writer, 'Harrow Roofing LLC', more)
  made.pass(300)
  const lane = async () => {
    const { lanes } = (await made.writer.get(`/broker/submissions/${id}/requirements`)).body.rail
    return lanes.find(({ market_name }: { market_name: string }) => market_name === market)
  }
  const { submission_market_id } = await lane()
  await made.writer.admin('/quotes', { submission_id: id, lane_id: submission_market_id, firm: true })
  const path = `/broker/submissions/${id}/bind-requests`
  return { ...made, path, quoteId: (await lane()).quotes.at(-1).quote_id as string }
}

/** Drafts, without confirming anything. @returns the id of the draft. */
async function draft(writer: Writer, path: string, quote_id: string): Promise<string> {
  return (await writer.post(path, { quote_id })).body.detail.bind_request_id
}

test('a draft is submitted once its assumptions are confirmed; what was confirmed is kept', async () => {
  const { writer, path, quoteId } = await quoted('Quickwell Commercial', {})
  const id = await draft(writer, path, quoteId)
  const first = await writer.post(`${path}/${id}/submit`, { attest_assumptions: ['prior_losses'] })
  expect(first).toMatchObject({ status: 409, body: { detail: { code: 'assumptions_unconfirmed', bind_request_id: id } } })
  const left = first.body.detail.assumptions.map(({ key }: { key: string }) => key)
  expect(left).not.toContain('prior_losses')
  const second = await writer.post(`${path}/${id}/submit`, { attest_assumptions: left })
  expect(second).toMatchObject({ status: 200, body: { bind_request_id: id, status: 'submitted', unconfirmed_assumptions: [] } })
  expect((await writer.post(`${path}/${id}/submit`, { attest_assumptions: true })).status).toBe(409)
})

test('a lane that collects card payment in the portal is not submitted by the API: 422 says why, and the draft stays', async () => {
  const { writer, path, quoteId } = await quoted('Corvid Digital', { lines_of_business: ['commercial_auto'] })
  const id = await draft(writer, path, quoteId)
  const refused = await writer.post(`${path}/${id}/submit`, { attest_assumptions: true })
  expect(refused).toMatchObject({ status: 422, body: { detail: { message: expect.stringContaining('card payment in the portal') } } })
  expect((await writer.get(`${path}/${id}`)).body.status).toBe('drafted')
})
