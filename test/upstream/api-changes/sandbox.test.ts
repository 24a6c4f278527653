import { expect, it, onTestFinished } from 'vitest'
import type { ApiChangeWatch } from '../../../src/model/api-changes.ts'
import { stateReads } from '../../../src/model/reads.ts'
import { startSandbox } from '../../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import { surprisesOf } from '../../../src/upstream/api-changes/known.ts'
import type { UpstreamClient } from '../../../src/upstream/client.ts'
import { type Altered, altered, alterJson, type PassingAnswer } from '../../tools/altered.ts'
import { sandboxClient } from '../../tools/sandbox-client.ts'
import { closedAtEnd } from '../../tools/servers.ts'

async function played(): Promise<Sandbox> {
  const sandbox = await closedAtEnd(startSandbox({ submissions: 6, seed: 'drift', autoStart: false }))
  while (sandbox.story.step()) {}
  return sandbox
}

async function through(sandbox: Sandbox, alter: (answer: PassingAnswer) => void): Promise<Altered> {
  const service = await closedAtEnd(altered(sandbox.origin, alter))
  return service
}

function watched(sandbox: Pick<Sandbox, 'account' | 'baseUrl'>) {
  const found: string[] = []
  const apiChanges: ApiChangeWatch = {
    look: (account, read, body) =>
      found.push(...surprisesOf(read, body).surprises.map(({ kind, path, type }) => `${account} ${read} ${kind} ${path} ${type}`)),
  }
  const client = sandboxClient(sandbox, 'default', { apiChanges })
  onTestFinished(() => client.close())
  return { client, found }
}

/** All reads of a submission. */
async function readAll(client: UpstreamClient, id: string): Promise<void> {
  for (const feed of ['events', 'thread'] as const) {
    let since: string | null = null
    do since = (await client[feed](id, since)).nextCursor
    while (since !== null)
  }
  for (const read of stateReads) await client.state(read, id)
  const detail = (await client.probe(`/broker/submissions/${id}`)).json as {
    insured_id: string
    bind_requests: { bind_request_id: string }[]
    policies: { policy_id: string }[]
  }
  for (const { bind_request_id } of detail.bind_requests) await client.byId('bind_request', id, bind_request_id)
  for (const { policy_id } of detail.policies) await client.byId('policy', id, policy_id)
  await client.byId('insured', id, detail.insured_id)
}

it("finds nothing in the sandbox's answers", async () => {
  const sandbox = await played()
  const { client, found } = watched(sandbox)
  await client.me()
  for (const id of sandbox.submissionIds('default')) await readAll(client, id)
  expect(found).toEqual([])
})

it('trap 58: finds additions of the service, and the reads continue', async () => {
  const sandbox = await played()
  const service = await through(sandbox, (answer) => {
    if (answer.path.includes('/events?')) {
      alterJson(answer, (page) => {
        for (const event of page.events) Object.assign(event, { region: 'north', market: { ...event.market, category: 'robotic' } })
      })
    }
    if (answer.path.endsWith('/requirements')) alterJson(answer, (view) => Object.assign(view, { marketing_hint: { text: 'later' } }))
  })
  const { client, found } = watched({
    account: (name) => sandbox.account(name),
    baseUrl: sandbox.baseUrl.replace(sandbox.origin, service.origin),
  })
  const [id = ''] = sandbox.submissionIds('default')
  const page = await client.events(id, null)
  expect(page.items.length).toBeGreaterThan(0)
  await client.state('requirements', id)
  await client.thread(id, null)
  expect(found).toEqual([
    'default events value events[].market.category string',
    'default events field events[].region string',
    'default requirements type marketing_hint object',
  ])
})
