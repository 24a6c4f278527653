import { fastify } from 'fastify'
import { expect, test } from 'vitest'
import { registerWrites } from '../../../src/sandbox/http/writes.ts'
import { buildParts } from '../../../src/sandbox/service/build.ts'
import { create, Writer, world } from '../writer.ts'

/** @returns all writes that name something by an id. */
async function writesById(): Promise<{ method: string; url: string }[]> {
  const writes: { method: string; url: string }[] = []
  const app = fastify()
  app.addHook('onRoute', ({ method, url }) => {
    if (url.includes(':')) writes.push({ method: String(method), url })
  })
  await app.register(async (api) => registerWrites(api, buildParts({ submissions: 0 })))
  await app.close()
  return writes
}

test('no write reaches what another brokerage has, by any route and with any kind of token', async () => {
  const made = await world({ accounts: [{ name: 'default' }, { name: 'zenith' }] })
  const { writer, sandbox, pass } = made
  const id = await create(writer, 'Harrow Roofing LLC')
  pass(360)
  const { lanes } = (await writer.get(`/broker/submissions/${id}/requirements`)).body.rail
  const quote_id = lanes.find(({ quotes }: { quotes: object[] }) => quotes.length > 0).quotes[0].quote_id
  const { body: bind } = await writer.post(`/broker/submissions/${id}/bind-requests`, { quote_id, attest_assumptions: true })
  const [application] = (await writer.get(`/broker/submissions/${id}/application-workspace`)).body.applications
  const ids: Record<string, string> = {
    submission_id: id,
    session_id: application.application_id,
    bind_request_id: bind.bind_request_id,
    contingency_id: bind.contingencies[0].id,
  }
  const own = await create(await new Writer(sandbox, 'zenith').login(), 'Other LLC')
  const before = sandbox.truth('default')
  const writes = await writesById()
  expect(writes.length).toBeGreaterThan(8)
  const tokens = [await new Writer(sandbox, 'zenith').login(), await new Writer(sandbox, 'zenith').login('partner')]
  for (const { method, url } of writes) {
    const portal = url.endsWith('quote-products') ? [new Writer(sandbox, 'zenith').signIn('admin')] : []
    for (const submission of [id, ...(url.match(/:(?!submission_id)/) ? [own] : [])]) {
      const path = url.replace(/:(\w+)/g, (_all, name: string) => (name === 'submission_id' ? submission : (ids[name] ?? '')))
      for (const foreign of [...(portal.length > 0 ? portal : tokens)]) {
        const body = { operation_id: 'x', expected_answer_revision: 1, expected_schema_fingerprint: 'x', producer_email: foreign.producer }
        const answer = url.endsWith('/document')
          ? await foreign.upload(path, {}, { name: 'a.pdf', bytes: new Uint8Array([37]) })
          : await foreign.send(method, path, body)
        expect([path, answer.status]).toEqual([path, 404])
      }
    }
  }
  expect(sandbox.truth('default')).toEqual(before)
})
