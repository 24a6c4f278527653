import { expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { listFindings } from '../../src/store/reconcile-runs.ts'
import { testDatabases } from '../tools/databases.ts'
import { ACCOUNT, RunRig } from './rig.ts'

/** As if each page took so long. */
const SLOW_MS = 15_000

it.each(testDatabases)('each page of a long feed is tried again by itself, however long the feed takes, on $name', async (database) => {
  const rig = await RunRig.open(database, 1)
  const id = rig.ids[0] as string
  rig.sandbox.addEvents(
    ACCOUNT,
    id,
    Array.from({ length: 450 }, () => ({ type: 'status_changed' })),
  )
  let late = 0
  let pages = 0
  const clock = { ...systemClock, now: () => Date.now() + late }
  const client = {
    ...rig.client,
    events: async (...asked: Parameters<typeof rig.client.events>) => {
      pages += 1
      late += pages % 2 === 0 ? 0 : SLOW_MS
      // Every other time nothing comes.
      if (pages % 2 === 1) rig.sandbox.faults.add({ kind: 'status', status: 500, operation: 'events', count: 1 })
      return await rig.client.events(...asked)
    },
  }
  const run = await rig.reconcile({}, { client, clock })
  expect(run).toMatchObject({ exit_code: 0, unreadable: 0 })
  expect(pages).toBe(10)
})

it.each([
  ['3 tries', {}],
  ['1 try', { retryAfterSeconds: 60 }],
] as const)('a finding says how often it was tried: %s', { timeout: 30_000 }, async (tries, fault) => {
  const [database] = testDatabases
  const rig = await RunRig.open(database as (typeof testDatabases)[0], 1)
  await rig.reconcile()
  rig.sandbox.faults.add({ kind: 'status', status: 500, operation: 'thread', ...fault })
  const run = await rig.reconcile({ no_state: true })
  expect(run).toMatchObject({ exit_code: 1, unreadable: 1 })
  const [found] = await listFindings(rig.db.read, { runId: run.run_id })
  expect(found?.detail).toContain(`thread could not be read in ${tries}: `)
})
