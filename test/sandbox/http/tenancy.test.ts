import { fastify } from 'fastify'
import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { registerApi } from '../../../src/sandbox/http/api.ts'
import { buildParts } from '../../../src/sandbox/service/build.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import { Client, sandboxFor } from '../support.ts'
import { create, Writer } from '../writer.ts'

/** @returns the paths of all reads that name something by an id. */
async function readsById(): Promise<string[]> {
  const paths: string[] = []
  const app = fastify()
  app.addHook('onRoute', ({ method, url }) => {
    if (method === 'GET' && url.includes(':')) paths.push(url)
  })
  await app.register(async (api) => registerApi(api, { ...buildParts({ submissions: 0 }), lists: true }))
  await app.close()
  return paths
}

/** @returns what each path is asked with, of things that the account has. */
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

test('whatever another brokerage has is not found, by any path and with any token', async () => {
  const sandbox = await sandboxFor({
    clock: new ManualClock(),
    submissions: 8,
    accounts: [{ name: 'acme' }, { name: 'zenith', submissions: 0 }],
  })
  while (sandbox.step() !== null);
  const pathOf = await idsOf(sandbox, 'acme')
  const own = await new Client(sandbox, 'acme').login()
  const foreign = await new Client(sandbox, 'zenith').login()
  const { clientId: client_id, clientSecret: client_secret } = sandbox.account('zenith').partner
  const partner = await new Client(sandbox, 'zenith').login({ client_id, client_secret })
  const paths = (await readsById()).map(pathOf)
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

test('the same insured at two brokerages has two ids, and each answers to its own brokerage alone', async () => {
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

test('an insured that a submission names by its id has all of its submissions', async () => {
  const sandbox = await sandboxFor({ submissions: 0 })
  const writer = await new Writer(sandbox).login()
  const first = await create(writer, 'Harrow Roofing LLC', { lines_of_business: ['aviation'] })
  const { insured_id } = (await writer.get(`/broker/submissions/${first}`)).body
  sandbox.setFacts('default', first, { marketing_status: 'no_markets_matched' })
  const second = await create(writer, 'Harrow Roofing of Texas LLC', { insured_id })
  const { body } = await writer.get(`/broker/insureds/${insured_id}`)
  expect(body.submissions).toEqual([{ submission_id: first }, { submission_id: second }])
})
