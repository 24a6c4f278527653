import { type FastifyInstance, fastify } from 'fastify'
import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { registerApi } from '../../../src/sandbox/http/api.ts'
import { registerWrites } from '../../../src/sandbox/http/writes.ts'
import { buildParts } from '../../../src/sandbox/service/build.ts'
import type { BuiltParts } from '../../../src/sandbox/service/parts.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import { Client, sandboxFor } from '../support.ts'
import { create, Writer, world } from '../writer.ts'

async function routesById(add: (app: FastifyInstance, parts: BuiltParts) => void): Promise<{ method: string; url: string }[]> {
  const routes: { method: string; url: string }[] = []
  const app = fastify()
  app.addHook('onRoute', ({ method, url }) => {
    if (url.includes(':') && method !== 'HEAD') routes.push({ method: String(method), url })
  })
  await app.register(async (api) => add(api, buildParts({ submissions: 0, lists: true })))
  await app.close()
  return routes
}

/** @returns ids of the account, for each path. */
async function idsOf(sandbox: Sandbox, account: string): Promise<(path: string) => string> {
  const client = await new Client(sandbox, account).login()
  const all = sandbox.truth(account)
  const bound = all.find(({ policies }) => policies.length > 0)
  const [bind, policy] = [bound?.bind_requests[0], bound?.policies[0]]
  const detail = (await (await client.get(`/broker/submissions/${bound?.submission_id}`)).json()) as { insured_id: string }
  const [lane] = bound?.requirements.rail?.lanes ?? []
  const offer = {
    presentation_id: 'p-1',
    kind: 'quote',
    label: 'Quote',
    document_url: '/documents/quote.pdf',
    filename: 'quote.pdf',
  } as const
  sandbox.patchLane(account, String(bound?.submission_id), String(lane?.submission_market_id), { rail: { source_offers: [offer] } })
  const [document] = (policy?.['documents'] ?? []) as { download_path: string }[]
  return (path) => {
    if (path.includes('/finalized-documents/')) return document?.download_path ?? ''
    if (path.startsWith('/documents/')) return offer.document_url
    return path
      .replace(/:submission_?id/i, String(bound?.submission_id))
      .replace(/bind-requests\/:\w+/, `bind-requests/${bind?.['bind_request_id']}`)
      .replace(/policies\/:\w+/, `policies/${policy?.['policy_id']}`)
      .replace(/insureds\/:\w+/, `insureds/${detail.insured_id}`)
  }
}

test('data of another brokerage is not found, by any path and token', async () => {
  const sandbox = await sandboxFor({
    clock: new ManualClock(),
    submissions: 8,
    accounts: [{ name: 'acme' }, { name: 'zenith', submissions: 0 }],
  })
  while (sandbox.story.step() !== null);
  const pathOf = await idsOf(sandbox, 'acme')
  const own = await new Client(sandbox, 'acme').login()
  const foreign = await new Client(sandbox, 'zenith').login()
  const { clientId: client_id, clientSecret: client_secret } = sandbox.account('zenith').partner
  const partner = await new Client(sandbox, 'zenith').login({ client_id, client_secret })
  const paths = (await routesById(registerApi)).map(({ url }) => pathOf(url))
  expect(paths.length).toBeGreaterThan(10)
  for (const path of paths) {
    expect(path).not.toContain(':')
    expect((await own.get(path)).status, path).toBe(200)
    for (const other of [foreign, partner]) {
      const answer = await other.get(path)
      expect(answer.status, path).toBe(404)
      expect(JSON.stringify(await answer.json()), path).not.toMatch(/acme/i)
    }
  }
})

test('no write reaches another brokerage, by any route and token', async () => {
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
  const writes = await routesById(registerWrites)
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

test('the same insured at two brokerages has two ids, each valid only there', async () => {
  const sandbox = await sandboxFor({ submissions: 0, accounts: [{ name: 'default' }, { name: 'brokerage-2' }] })
  const both = await Promise.all(
    ['default', 'brokerage-2'].map(async (account) => {
      const writer = await new Writer(sandbox, account).login()
      const id = await create(writer, 'Harrow Roofing LLC')
      return { writer, insuredId: (await writer.get(`/broker/submissions/${id}`)).body.insured_id as string }
    }),
  )
  const ids = both.map(({ insuredId }) => insuredId)
  const answers = both.map(({ writer }) => Promise.all(ids.map(async (id) => (await writer.get(`/broker/insureds/${id}`)).status)))
  expect(await Promise.all(answers)).toEqual([
    [200, 404],
    [404, 200],
  ])
})

test('an insured named by id has all of its submissions', async () => {
  const sandbox = await sandboxFor({ submissions: 0 })
  const writer = await new Writer(sandbox).login()
  const first = await create(writer, 'Harrow Roofing LLC', { lines_of_business: ['aviation'] })
  const { insured_id } = (await writer.get(`/broker/submissions/${first}`)).body
  sandbox.setFacts('default', first, { marketing_status: 'no_markets_matched' })
  const second = await create(writer, 'Harrow Roofing of Texas LLC', { insured_id })
  const { body } = await writer.get(`/broker/insureds/${insured_id}`)
  expect(body.submissions).toEqual([{ submission_id: first }, { submission_id: second }])
})
