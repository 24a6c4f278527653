import { expect, test } from 'vitest'
import type { SandboxOptions } from '../../../src/sandbox/service/options.ts'
import { create, Writer, world } from '../writer.ts'

const bytes = new TextEncoder().encode('%PDF-1.4')

async function held(options: SandboxOptions = {}) {
  const made = await world(options)
  const id = await create(made.writer, 'Harrow Roofing LLC', { hold: true })
  const path = `/broker/submissions/${id}`
  const answers = async (writer: Writer, producer_email: string | undefined) => ({
    finalize: await writer.send('POST', `${path}/finalize`, { producer_email }),
    'form-fill-session': await writer.send('POST', `${path}/form-fill-session`, { producer_email }),
    documents: await writer.upload(`${path}/documents`, { producer_email: producer_email ?? '' }, { name: 'a.pdf', bytes }),
  })
  return { ...made, path, answers }
}

test('a variant requires a producer in every write of a machine', async () => {
  const { writer, answers, path, sandbox } = await held({ unshown: { unlisted_attribution: 'every' } })
  for (const email of [undefined, 'nobody@elsewhere.invalid'])
    for (const [name, { status }] of Object.entries(await answers(writer, email))) expect([name, status]).toEqual([name, 422])
  const before = await writer.get(`${path}/requirements`)
  expect(before.body).toMatchObject({ marketing_status: 'not_started', form_fill_active: false, documents_on_file: [] })
  const user = new Writer(sandbox).signIn('producer')
  for (const [name, { status }] of Object.entries(await answers(user, undefined))) expect([name, status]).toEqual([name, 200])
})

test.each([
  ['none', 200, 200],
  ['with_body', 200, 422],
  ['every', 422, 422],
])('with %s a machine without a producer gets %i in finalize and %i with a body', async (where, finalize, body) => {
  const { writer, answers } = await held(where === 'none' ? {} : { unshown: { unlisted_attribution: where } })
  const statuses = Object.entries(await answers(writer, undefined)).map(([name, { status }]) => [name, status])
  expect(statuses).toEqual([
    ['finalize', finalize],
    ['form-fill-session', body],
    ['documents', body],
  ])
})

test("a machine's producer must be an active user; finalize accepts it in the query", async () => {
  const { writer, path, answers } = await held()
  for (const [name, { status }] of Object.entries(await answers(writer, 'nobody@elsewhere.invalid')))
    expect([name, status]).toEqual([name, 422])
  expect((await writer.send('POST', `${path}/finalize?producer_email=nobody`, {})).status).toBe(422)
  const query = new URLSearchParams({ producer_email: writer.producer })
  const released = await writer.send('POST', `${path}/finalize?${query}`, {})
  expect(released.body).toMatchObject({ status: 'queued', marketing_status: 'matching' })
})
