import { describe, expect, it } from 'vitest'
import { timeFromMs } from '../../../../src/model/time.ts'
import { createMetrics } from '../../../../src/ops/metrics/metrics.ts'
import { StoreGauges } from '../../../../src/ops/metrics/store-gauges.ts'
import { writeApiChanges } from '../../../../src/store/upkeep/api-changes.ts'
import { silentLog, testDatabases } from '../../../tools/databases.ts'
import { adminRigForEach } from '../rig.ts'

describe.each(testDatabases)('API changes for operators on $name', (database) => {
  const rig = adminRigForEach(database)

  const list = async () => (await rig.ask<{ items: object[]; next_cursor: null }>('GET', '/api-changes')).json
  const metrics = async () => {
    const { registry } = createMetrics()
    await new StoreGauges(registry, rig.db, silentLog, () => rig.config, { storeFault: async () => null }).refresh()
    return await registry.metrics()
  }

  it('are listed by a route and counted by a metric', async () => {
    expect(await list()).toEqual({ items: [], next_cursor: null, full: [] })
    expect(await metrics()).toContain('submission_mirror_api_changes{account="default",kind="field"} 0')
    const at = timeFromMs(Date.now())
    const seen = { account: 'default', resource: 'events', type: 'string', firstAt: at, lastAt: at, answers: 2 }
    await writeApiChanges(rig.db, [
      { ...seen, path: 'events[].region', kind: 'field' },
      { ...seen, path: 'events[].mood', kind: 'field' },
      { ...seen, path: 'events[].type', kind: 'value' },
    ])
    const { items } = await list()
    expect(items).toHaveLength(3)
    const where = { account: 'default', resource: 'events', path: 'events[].mood', kind: 'field', type: 'string' }
    expect(items[0]).toEqual({ ...where, first_seen_at: at, last_seen_at: at, answers: 2 })
    const text = await metrics()
    for (const line of ['kind="field"} 2', 'kind="value"} 1', 'kind="type"} 0']) {
      expect(text).toContain(`submission_mirror_api_changes{account="default",${line}`)
    }
  })
})
