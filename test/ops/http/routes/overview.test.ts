import { describe, expect, it } from 'vitest'
import type { Overview } from '../../../../src/ops/operations/overview.ts'
import { testDatabases } from '../../../tools/databases.ts'
import { AdminRig } from '../rig.ts'

describe.each(testDatabases)('the overview on $name', (database) => {
  it('says what needs a person, and the request that it bears mends it', async () => {
    const rig = await AdminRig.open(database)
    try {
      const before = (await rig.ask<Overview>('GET', '/overview')).json
      expect(before).toMatchObject({
        verdict: 'catching_up',
        late: [{ kind: 'not_served' }],
        needs: [],
        submissions: { known: 0 },
        inbox: { count: 0, oldest_at: null },
      })
      await rig.ask('POST', '/destinations/ams/pause', { body: { reason: 'the AMS moves' } })
      const paused = (await rig.ask<Overview>('GET', '/overview')).json
      expect(paused).toMatchObject({ verdict: 'attention', sentence: expect.stringMatching(/^Needs attention: destination ams is paused/) })
      expect(paused.sentence).toBe((await rig.ask('GET', '/status')).json['sentence'])
      const mend = {
        operation: 'destination.resume',
        input: { name: 'ams' },
        command: 'submission-mirror destination resume ams',
        method: 'POST',
        path: '/api/v1/destinations/ams/resume',
        body: null,
      }
      expect(paused.needs).toEqual([expect.objectContaining({ kind: 'destination_stopped', count: 1, since: paused.since, mend })])
      expect((await rig.ask(mend.method, mend.path)).status).toBe(200)
      expect((await rig.ask<Overview>('GET', '/overview')).json.needs).toEqual([])
    } finally {
      await rig.close()
    }
  })
})
