import { describe, expect, it } from 'vitest'
import type { Overview } from '../../../../src/ops/operations/overview.ts'
import { testDatabases } from '../../../tools/databases.ts'
import { closedAtEnd } from '../../../tools/servers.ts'
import { AdminRig } from '../rig.ts'

describe.each(testDatabases)('the overview on $name', (database) => {
  it('shows an open issue with the request that fixes it', async () => {
    const rig = await closedAtEnd(AdminRig.open(database))
    const overview = async () => (await rig.ask<Overview>('GET', '/overview')).json
    const empty = { submissions: { known: 0 }, inbox: { count: 0, oldest_at: null } }
    expect(await overview()).toMatchObject({ verdict: 'catching_up', late: [{ kind: 'not_served' }], issues: [], ...empty })
    await rig.ask('POST', '/destinations/ams/pause', { body: { reason: 'the AMS moves' } })
    const paused = await overview()
    expect(paused).toMatchObject({ verdict: 'attention', sentence: expect.stringMatching(/^Needs attention: destination ams is paused/) })
    expect(paused.sentence).toBe((await rig.ask('GET', '/status')).json['sentence'])
    const request = { method: 'POST', path: '/api/v1/destinations/ams/resume', body: null }
    const command = 'submission-mirror destination resume ams'
    const fix = { operation: 'destination.resume', input: { name: 'ams' }, command, ...request }
    expect(paused.issues).toEqual([expect.objectContaining({ kind: 'destination_stopped', count: 1, since: paused.since, fix })])
    expect((await rig.ask(request.method, request.path)).status).toBe(200)
    expect((await overview()).issues).toEqual([])
  })
})
