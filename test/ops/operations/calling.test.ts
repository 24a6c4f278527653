import { expect, it } from 'vitest'
import { showFix } from '../../../src/ops/operations/index.ts'

const post = (path: string, body: object | null) => ({ method: 'POST', path, body })

it.each([
  [
    { operation: 'inbox.replay', input: { account: 'acme', state: 'dead' } },
    {
      ...{ command: 'submission-mirror inbox replay --account acme --state dead', tool: 'replay' },
      ...post('/api/v1/inbox/replay', { account: 'acme', state: 'dead' }),
    },
  ],
  [
    { operation: 'account.resume', input: { name: "Bob's own" } },
    { command: "submission-mirror account resume 'Bob'\\''s own'", ...post("/api/v1/accounts/Bob's%20own/resume", null) },
  ],
  [
    { operation: 'reconcile.request', input: { account: 'acme' } },
    {
      ...{ command: 'submission-mirror reconcile --account acme', tool: 'reconcile' },
      ...post('/api/v1/reconcile-runs', { account: 'acme' }),
    },
  ],
  [
    { operation: 'outbox.list', input: { destination: 'ams', state: 'unknown' } },
    { command: 'submission-mirror outbox list --destination ams --state unknown', tool: 'list_pushes' },
  ],
  [
    { operation: 'destination.map', input: { name: 'ams', file: 'clients.csv' } },
    { command: 'submission-mirror destination map ams --file clients.csv' },
  ],
  [{ runbook: 'docker/warnings-service.md#too-many-connections' }, {}],
])('a fix shows how its operation is called: %o', async (fix, call) => {
  expect(await showFix(fix)).toEqual({ ...fix, ...call })
})

it('a fix with an unknown operation fails', async () => {
  await expect(showFix({ operation: 'inbox.fix', input: {} })).rejects.toThrow('there is no operation inbox.fix')
})
