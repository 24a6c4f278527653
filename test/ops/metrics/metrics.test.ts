import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { createMetrics } from '../../../src/ops/metrics/metrics.ts'
import { StoreGauges } from '../../../src/ops/metrics/store-gauges.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { ensureDestinations, setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { ensureAccounts, stopAccount } from '../../../src/store/reads/accounts.ts'
import { addPaths } from '../../../src/store/reads/path-reads.ts'
import { savePause } from '../../../src/store/reads/pauses.ts'
import { account } from '../../config/support.ts'
import { silentLog, testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { trackFact, uuid } from '../../tools/observations.ts'

const ACCOUNT = 'default'
const config = loadConfig(account)
const up = { storeFault: async () => null }

describe('metrics', () => {
  it('have the prefix of the product and a help text, and count, time and set the reports of the stages', async () => {
    const { registry, observer } = createMetrics()
    observer.count('deliveries_total', { account: ACCOUNT, answer: '204' })
    observer.count('deliveries_total', { account: ACCOUNT, answer: '204' }, 2)
    observer.time('acknowledge_seconds', 0.004, { account: ACCOUNT })
    observer.set('upstream_rate', 2.5, { account: ACCOUNT })
    const text = await registry.metrics()
    expect(text).toContain('submission_mirror_deliveries_total{account="default",answer="204"} 3')
    expect(text).toContain('submission_mirror_acknowledge_seconds_bucket{le="0.005",account="default"} 1')
    expect(text).toContain('submission_mirror_upstream_rate{account="default"} 2.5')
    expect(text).toContain('process_resident_memory_bytes')
    // Unset values aren't shown: 0 bytes free would be a full disk.
    expect(text).not.toMatch(/^submission_mirror_disk_(?:free|size)_bytes/m)
    observer.set('disk_free_bytes', 7)
    expect(await registry.metrics()).toMatch(/^submission_mirror_disk_free_bytes 7$/m)
    const names = registry.getMetricsAsArray().map((metric) => metric.name)
    for (const name of ['lost_webhooks_total', 'token_mints_total', 'upstream_requests_total', 'applied_rows_total', 'feed_reads_total']) {
      expect(names).toContain(`submission_mirror_${name}`)
    }
  })
})

describe.each(testDatabases)('gauges of the store on $name', (database) => {
  it('are read again when the clock was put back', async () => {
    const clock = new ManualClock(Date.now())
    const opened = await database.open({ clock })
    try {
      await ensureAccounts(opened.db, [ACCOUNT])
      const { registry } = createMetrics()
      const gauges = new StoreGauges(registry, opened.db, silentLog, () => config, up)
      await gauges.refresh()
      await stopAccount(opened.db, ACCOUNT, 'suspended', 'the credentials are refused', 900_000)
      clock.put(-3_600_000)
      clock.advance(5_000)
      await gauges.refresh()
      expect(await registry.metrics()).toContain('submission_mirror_account_state{account="default",state="suspended"} 1')
    } finally {
      await opened.close()
    }
  })

  it('show waiting work, how late and how fresh the reads are, and the state of accounts', async () => {
    const clock = new ManualClock(Date.now())
    const opened = await database.open({ clock })
    const { db } = opened
    try {
      await ensureAccounts(db, [ACCOUNT])
      await applyAll(db, [trackFact(ACCOUNT, uuid(9, 1)), trackFact(ACCOUNT, uuid(9, 2))])
      const headers = { 'svix-id': 'msg_1' }
      const receivedAt = timeFromMs(clock.now() - 30_000)
      await new InboxAppender(db).append([
        { account: ACCOUNT, deliveryId: 'msg_1', receivedAt, headers, body: Buffer.from('{}'), secret: 1 },
      ])
      await ensureDestinations(db, [{ name: 'ams', start: 'now' }])
      await setDestinationState(db, 'ams', 'suspended', 'answered 410')
      await stopAccount(db, ACCOUNT, 'suspended', 'the credentials are refused', 900_000)
      await savePause(db, ACCOUNT, { ms: 3_600_000, reason: '429' })
      const { registry } = createMetrics()
      const gauges = new StoreGauges(registry, db, silentLog, () => config, up)
      await gauges.refresh()
      const text = await registry.metrics()
      for (const line of [
        'store_up 1',
        'inbox_deliveries{state="ready"} 1',
        'inbox_oldest_seconds{state="ready"} 30',
        'dead_letters{account="default"} 0',
        'account_state{account="default",state="suspended"} 1',
        'account_state{account="default",state="active"} 0',
        'account_pause_seconds{account="default"} 3',
        'never_read{account="default",read="events"} 2',
        'destination_state{destination="ams",state="suspended"} 1',
        'destination_state{destination="ams",state="active"} 0',
        'destination_rows{destination="ams",state="dead"} 0',
        'destination_oldest_seconds{destination="ams"} 0',
        'last_seq 2',
      ]) {
        expect(text).toContain(`submission_mirror_${line}`)
      }
      await applyAll(db, [trackFact(ACCOUNT, uuid(9, 3))])
      await gauges.refresh()
      expect(await registry.metrics()).toContain('submission_mirror_last_seq 2')
      clock.advance(5_000)
      await gauges.refresh()
      expect(await registry.metrics()).toContain('submission_mirror_last_seq 3')
    } finally {
      await opened.close()
    }
  })

  it('show that the store is down when it can be read but not written, with everything else that is known', async () => {
    const opened = await database.open()
    try {
      const { registry } = createMetrics()
      const full = { storeFault: async () => 'cannot store a delivery now: the disk is full' }
      await new StoreGauges(registry, opened.db, silentLog, () => config, full).refresh()
      const text = await registry.metrics()
      expect(text).toContain('submission_mirror_store_up 0')
      expect(text).toMatch(/alarm\{name="store_unavailable",[^}]*\} 1/)
      expect(text).toContain('submission_mirror_last_seq 0')
    } finally {
      await opened.close()
    }
  })

  it('count those probed paths as failing that the settings name', async () => {
    const opened = await database.open()
    const { db } = opened
    try {
      await ensureAccounts(db, [ACCOUNT])
      const paths = ['/broker/submissions', '/broker/taken-out'].map((path) => ({ name: path, submissionId: '', path }))
      await db.write('test', async (tx) => {
        await addPaths(tx, ACCOUNT, paths)
        await tx.sql.updateTable('sync_path_reads').set({ failures: 3 }).execute()
      })
      const failing = async (templates: readonly string[]) => {
        const { registry } = createMetrics()
        const accounts = config.accounts.map((each) => ({ ...each, discovery: { paths: templates, idFields: {}, everyMs: 60_000 } }))
        await new StoreGauges(registry, db, silentLog, () => ({ accounts }), up).refresh()
        return /discovery_failing\{account="default"\} (\d+)/.exec(await registry.metrics())?.[1]
      }
      expect(await failing(paths.map(({ path }) => path))).toBe('2')
      expect(await failing(['/broker/submissions'])).toBe('1')
      expect(await failing([])).toBe('0')
    } finally {
      await opened.close()
    }
  })
})
