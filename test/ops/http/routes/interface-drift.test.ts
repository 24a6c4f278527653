import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { timeFromMs } from '../../../../src/model/time.ts'
import { createMetrics } from '../../../../src/ops/metrics/metrics.ts'
import { StoreGauges } from '../../../../src/ops/metrics/store-gauges.ts'
import { writeInterfaceDrift } from '../../../../src/store/upkeep/interface-drift.ts'
import { silentLog, testDatabases } from '../../../tools/databases.ts'
import { AdminRig } from '../rig.ts'

describe.each(testDatabases)('drift of the interface for operators on $name', (database) => {
  let rig: AdminRig
  beforeEach(async () => {
    rig = await AdminRig.open(database)
  })
  afterEach(() => rig.close())

  const list = async () => (await rig.ask<{ items: object[]; next_cursor: null }>('GET', '/interface-drift')).json
  const metrics = async () => {
    const { registry } = createMetrics()
    await new StoreGauges(registry, rig.db, silentLog, () => rig.config, { storeFault: async () => null }).refresh()
    return await registry.metrics()
  }

  it('is none, or listed by a route and counted by a metric', async () => {
    expect(await list()).toEqual({ items: [], next_cursor: null, full: [] })
    expect(await metrics()).toContain('submission_mirror_interface_drift{account="default",kind="field"} 0')
    const at = timeFromMs(Date.now())
    const seen = { account: 'default', resource: 'events', type: 'string', firstAt: at, lastAt: at, answers: 2 }
    await writeInterfaceDrift(rig.db, [
      { ...seen, path: 'events[].region', kind: 'field' },
      { ...seen, path: 'events[].mood', kind: 'field' },
      { ...seen, path: 'events[].type', kind: 'value' },
    ])
    const { items } = await list()
    expect(items).toHaveLength(3)
    expect(items[0]).toEqual({
      account: 'default',
      resource: 'events',
      path: 'events[].mood',
      kind: 'field',
      type: 'string',
      first_seen_at: at,
      last_seen_at: at,
      answers: 2,
    })
    const text = await metrics()
    for (const line of ['kind="field"} 2', 'kind="value"} 1', 'kind="type"} 0']) {
      expect(text).toContain(`submission_mirror_interface_drift{account="default",${line}`)
    }
  })
})
