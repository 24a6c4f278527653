import assert from 'node:assert/strict'
import type { Case, Desk } from '../desk.ts'

interface Lane {
  readonly submission_market_id: string
  readonly quotes: readonly { readonly quote_id: string }[]
}

async function quoted(desk: Desk) {
  const id = await desk.create('Harrow Roofing LLC')
  desk.pass(360)
  const { body } = await desk.get(`/broker/submissions/${id}/requirements`)
  const lanes = body.rail.lanes as Lane[]
  const lane = lanes.find(({ quotes }) => quotes.length > 0)
  const other = lanes.find(({ quotes }) => quotes.length === 0)
  assert.ok(lane?.quotes[0] && other)
  return { id, lane, other, quote_id: lane.quotes[0].quote_id, path: `/broker/submissions/${id}/bind-requests` }
}

export const bindingCases: readonly Case[] = [
  {
    name: 'unconfirmed assumptions keep one draft, which becomes whole when they are attested',
    rows: ['endpoint.createBindRequest', 'endpoint.getBindRequest', 'error.unconfirmed', 'state.draft', 'state.draft_kept'],
    run: async (desk) => {
      const { path, quote_id } = await quoted(desk)
      const first = await desk.post(path, { quote_id })
      assert.deepEqual([first.status, first.body.detail.code], [409, 'assumptions_unconfirmed'])
      const { bind_request_id } = first.body.detail
      assert.equal((await desk.get(`${path}/${bind_request_id}`)).body.status, 'drafted')
      const whole = await desk.post(path, { quote_id, attest_assumptions: true })
      assert.deepEqual([whole.body.bind_request_id, whole.body.unconfirmed_assumptions], [bind_request_id, []])
    },
  },
  {
    name: 'an indication, and a superseded quote, cannot be bound',
    rows: ['error.indication', 'error.not_bindable'],
    run: async (desk) => {
      const { id, path, lane, other, quote_id } = await quoted(desk)
      const made = await desk.admin('/quotes', { submission_id: id, lane_id: other.submission_market_id, firm: false })
      assert.equal((await desk.post(path, { quote_id: made.body.quote_id, attest_assumptions: true })).status, 422)
      await desk.admin('/quotes', { submission_id: id, lane_id: lane.submission_market_id, firm: true })
      assert.equal((await desk.post(path, { quote_id, attest_assumptions: true })).status, 409)
    },
  },
  {
    name: 'a contingency takes a file of up to 25 MB while the request is drafted',
    rows: [
      ...['endpoint.uploadContingency', 'error.file_size', 'limit.upload', 'error.not_drafted'],
      ...['state.draft_upload', 'state.contingency'],
    ],
    run: async (desk) => {
      const { path, quote_id } = await quoted(desk)
      const { body } = await desk.post(path, { quote_id, attest_assumptions: true })
      const to: string = body.contingencies[0].upload_path
      assert.equal((await desk.upload(to, {}, 0)).status, 422)
      assert.equal((await desk.upload(to, {}, 25 * 1024 * 1024 + 1)).status, 413)
      const done = await desk.upload(to, { notes: 'signed' }, 25 * 1024 * 1024)
      assert.deepEqual([done.status, done.body.status, done.body.contingencies[0].status], [200, 'drafted', 'satisfied'])
      await desk.admin('/bind', { bind_request_id: body.bind_request_id, to: 'submitted' })
      assert.equal((await desk.upload(to, {}, 100)).status, 409)
    },
  },
  {
    name: 'a bound request has an event, a policy and an insured',
    rows: ['state.bound', 'endpoint.getPolicy', 'endpoint.getInsured'],
    run: async (desk) => {
      const { id, path, quote_id } = await quoted(desk)
      const { body } = await desk.post(path, { quote_id, attest_assumptions: true })
      for (const to of ['submitted', 'sent', 'bound']) await desk.admin('/bind', { bind_request_id: body.bind_request_id, to })
      const { policy_id } = (await desk.get(`${path}/${body.bind_request_id}`)).body
      const policy = await desk.get(`/broker/policies/${policy_id}`)
      assert.equal(policy.status, 200)
      assert.equal((await desk.get(`/broker/insureds/${policy.body.insured_id}`)).status, 200)
      assert.equal((await desk.get(`/broker/submissions/${id}/events`)).body.events.at(-1).type, 'bound')
    },
  },
]
