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

test('a machine can be made to name the producer in every write, also where the row lists no such field', async () => {
  const { writer, answers, path, sandbox } = await held({ unshown: { unlisted_attribution: 'every' } })
  for (const email of [undefined, 'nobody@elsewhere.invalid'])
    for (const [name, { status }] of Object.entries(await answers(writer, email))) expect([name, status]).toEqual([name, 422])
  const before = await writer.get(`${path}/requirements`)
  expect(before.body).toMatchObject({ marketing_status: 'not_started', form_fill_active: false, documents_on_file: [] })
  const user = new Writer(sandbox).signIn('producer')
  for (const [name, { status }] of Object.entries(await answers(user, undefined))) expect([name, status]).toEqual([name, 200])
})

test('a machine names the producer where there is a body; finalize has none, so it need not, but whom it names must be one', async () => {
  const { writer, path, answers } = await held()
  expect((await writer.send('POST', `${path}/finalize?producer_email=nobody`, {})).status).toBe(422)
  const statuses = Object.entries(await answers(writer, undefined)).map(([name, { status }]) => [name, status])
  expect(statuses).toEqual([
    ['finalize', 200],
    ['form-fill-session', 422],
    ['documents', 422],
  ])
})

test('finalize takes the producer in the query, for it has no body; whether writes must name one can be varied', async () => {
  const { writer, path } = await held({ unshown: { unlisted_attribution: 'every' } })
  const query = new URLSearchParams({ producer_email: writer.producer })
  expect((await writer.send('POST', `${path}/finalize?${query}`, {})).body).toMatchObject({
    status: 'queued',
    marketing_status: 'matching',
  })
  const lenient = await held({ unshown: { unlisted_attribution: 'none' } })
  expect((await lenient.writer.send('POST', `${lenient.path}/form-fill-session`, {})).status).toBe(200)
  const named = await lenient.writer.send('POST', `${lenient.path}/form-fill-session`, { producer_email: 'nobody@elsewhere.invalid' })
  expect(named.status).toBe(422)
})

test('an uploaded document that is empty or over 25 MB is refused and not kept', async () => {
  const { writer, path } = await held()
  const upload = (size: number) => writer.upload(`${path}/documents`, {}, { name: 'a.pdf', bytes: new Uint8Array(size) })
  expect(await upload(0)).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'file'] }] } })
  expect((await upload(25 * 1024 * 1024 + 1)).status).toBe(413)
  expect((await writer.get(`${path}/requirements`)).body.documents_on_file).toEqual([])
})
