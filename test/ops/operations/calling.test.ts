import { expect, it } from 'vitest'
import { showMend } from '../../../src/ops/operations/index.ts'

it.each([
  [
    { operation: 'inbox.replay', input: { account: 'acme', state: 'dead' } },
    {
      command: 'submission-mirror inbox replay --account acme --state dead',
      tool: 'replay',
      method: 'POST',
      path: '/api/v1/inbox/replay',
      body: { account: 'acme', state: 'dead' },
    },
  ],
  [
    { operation: 'account.resume', input: { name: "Bob's own" } },
    {
      command: "submission-mirror account resume 'Bob'\\''s own'",
      method: 'POST',
      path: "/api/v1/accounts/Bob's%20own/resume",
      body: null,
    },
  ],
  [
    { operation: 'reconcile.request', input: { account: 'acme' } },
    {
      command: 'submission-mirror reconcile --account acme',
      tool: 'reconcile',
      method: 'POST',
      path: '/api/v1/reconcile-runs',
      body: { account: 'acme' },
    },
  ],
  // Looking mends nothing, and a document has to be written first.
  [
    { operation: 'outbox.list', input: { destination: 'ams', state: 'unknown' } },
    { command: 'submission-mirror outbox list --destination ams --state unknown', tool: 'list_pushes' },
  ],
  [
    { operation: 'destination.map', input: { name: 'ams', file: 'clients.csv' } },
    { command: 'submission-mirror destination map ams --file clients.csv' },
  ],
  [{ runbook: 'docker/runbook.md#a-flood' }, {}],
])('a mend is told as it is called: %o', async (mend, call) => {
  expect(await showMend(mend)).toEqual({ ...mend, ...call })
})

it('a mend names an operation that there is', async () => {
  await expect(showMend({ operation: 'inbox.mend', input: {} })).rejects.toThrow('there is no operation inbox.mend')
})
