import { expect, it } from 'vitest'
import type { ConditionName } from '../../../src/client/openapi/conditions.ts'
import { openApiDocument } from '../../../src/client/openapi/document.ts'
import { Contract } from '../contract.ts'
import { Client, sandboxFor } from '../support.ts'

it('serves the document without a token', async () => {
  const sandbox = await sandboxFor()
  const answer = await fetch(`${sandbox.baseUrl}/openapi.json`)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
  expect(await answer.json()).toEqual(JSON.parse(JSON.stringify(openApiDocument())))
})

it("lists errors with this sandbox's statuses", async () => {
  const sandbox = await sandboxFor({ unshown: { invalid_cursor: 418 } })
  const { paths } = (await (await fetch(`${sandbox.baseUrl}/openapi.json`)).json()) as {
    paths: Record<string, { get: { responses: object } }>
  }
  expect(paths['/broker/submissions/{submission_id}/events']?.get.responses).toMatchObject({ 418: { description: 'Invalid cursor' } })
})

it('answers every read of a played story as documented', async () => {
  const contract = new Contract()
  const sandbox = await sandboxFor({ submissions: 6, seed: 'contract', observeAnswer: contract.observe })
  while (sandbox.story.step()) {}
  const client = await new Client(sandbox).login()
  const read = async (path: string) => JSON.parse((await (await client.get(path)).text()) || 'null') as unknown
  await read('/broker/me')
  await read('/oauth/.well-known/oauth-authorization-server')
  for (const id of sandbox.submissionIds('default')) {
    const at = `/broker/submissions/${id}`
    await client.readFeed('events', id, { limit: '7' })
    await client.readFeed('thread', id, { limit: '7' })
    for (const view of ['requirements', 'outstanding-requirements', 'application-workspace', 'api-quotes/sessions'])
      await read(`${at}/${view}`)
    const { insured_id, bind_requests, policies } = (await read(at)) as {
      insured_id: string
      bind_requests: { bind_request_id: string }[]
      policies: { policy_id: string }[]
    }
    await read(`/broker/insureds/${insured_id}`)
    for (const { bind_request_id } of bind_requests) await read(`${at}/bind-requests/${bind_request_id}`)
    for (const { policy_id } of policies) {
      const { documents } = (await read(`/broker/policies/${policy_id}`)) as { documents: { download_path: string }[] }
      for (const { download_path } of documents) await (await client.get(download_path)).bytes()
    }
    await read(`${at}/events?since=nonsense`)
    await read(`${at}/thread?limit=many`)
  }
  const nobodys = '0b5f0a9e-6b1c-4a53-9d3c-0a4f6f2f9b11'
  for (const path of ['submissions/ID/requirements', 'policies/ID', 'insureds/ID']) {
    await read(`/broker/${path.replace('ID', nobodys)}`)
    await read(`/broker/${path.replace('ID', 'seven')}`)
    await fetch(`${sandbox.baseUrl}/broker/${path.replace('ID', nobodys)}`)
  }
  expect(contract.problems).toEqual([])
  const reads = ['getIdentity', 'getMetadata', 'getEvents', 'getThread', 'getRequirements', 'getOutstanding', 'getWorkspace']
  const more = ['getQuoteSessions', 'getInsured', 'getPolicy', 'getBindRequest', 'getPdf']
  const errors = ['getEvents invalid_cursor', 'getThread bad_limit', 'getPolicy not_found', 'getPolicy invalid_id']
  expect([...contract.seen]).toEqual(
    expect.arrayContaining([...[...reads, ...more].map((id) => `${id} 200`), ...errors, 'getRequirements missing_token']),
  )
})

it('finds an undocumented answer', () => {
  const check = (path: string, status: number, body: unknown, condition: ConditionName | null = null) =>
    new Contract().check({
      method: 'GET',
      path,
      status,
      contentType: 'application/json',
      condition,
      body: Buffer.from(JSON.stringify(body)),
    })
  const events = '/broker/submissions/0b5f0a9e-6b1c-4a53-9d3c-0a4f6f2f9b11/events'
  expect(check(events, 200, { events: [], next_cursor: null, later: 1 })).toEqual([])
  expect(check(events, 200, { events: [] })).toHaveLength(1)
  expect(check(events, 200, { events: [{ id: 'seven', type: 'bound' }], next_cursor: null })).toHaveLength(1)
  expect(check(events, 307, {})).toEqual(['the document has no such status'])
  expect(check(events, 418, { detail: 'no' }, 'invalid_cursor')).toEqual([])
  expect(check(events, 409, { detail: 'no' }, 'file_exists')).toEqual(['the document does not list file_exists'])
  expect(check('/somewhere/else', 418, {})).toEqual([])
})
