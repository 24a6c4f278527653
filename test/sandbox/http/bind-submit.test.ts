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

async function sign(writer: Writer, path: string, id: string): Promise<void> {
  const { body } = await writer.get(`${path}/${id}`)
  for (const { upload_path } of body.contingencies)
    await writer.upload(upload_path, {}, { name: 'signed.pdf', bytes: new TextEncoder().encode('%PDF-1.7') })
}

test('a draft is submitted once its assumptions are confirmed and its contingencies satisfied; the admin route moves it on', async () => {
  const { writer, path, quoteId } = await quoted('Quickwell Commercial', {})
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

test('moves that make no sense are refused in one sentence, and change nothing', async () => {
  const { writer, path, quoteId } = await quoted('Quickwell Commercial', {})
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

test('what is uploaded to a contingency has to be a PDF', async () => {
  const { writer, path, quoteId } = await quoted('Quickwell Commercial', {})
  const { body } = await writer.get(`${path}/${await draft(writer, path, quoteId)}`)
  const [{ upload_path }] = body.contingencies
  const refused = await writer.upload(upload_path, {}, { name: 'signed.pdf', bytes: new TextEncoder().encode('PK a document') })
  expect(refused).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'file'], msg: 'The file is no PDF' }] } })
})
