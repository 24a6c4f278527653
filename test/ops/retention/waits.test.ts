import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { ClockWatch } from '../../../src/ops/clocks/clock-watch.ts'
import { confirmRetention, retentionState } from '../../../src/ops/operations/retention.ts'
import { Retention } from '../../../src/ops/retention/retention.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { timeValue } from '../../../src/store/engine/sql.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { lastUpkeep } from '../../../src/store/upkeep/upkeep.ts'
import { openedDb } from '../../push/outbox.ts'
import { runSql, silentLog, type TestDatabase, testDatabases } from '../../tools/databases.ts'
import { applyAll, applyEach } from '../../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const never = new AbortController().signal

class Stage {
  aheadMs = 0
  serviceMs: number | null = 0
  passedMs = 0
  readonly clock: Clock = {
    ...systemClock,
    now: () => Date.now() + this.aheadMs,
    steady: () => performance.now() + this.passedMs,
    sleep: async () => {},
  }
  db!: Db

  retention(maxShare = 50, days = 30): Retention {
    const clients = new Map([['acme', { clockSkewMs: () => (this.serviceMs === null ? null : this.serviceMs - this.aheadMs) }]])
    const clocks = new ClockWatch({ db: this.db, clock: this.clock, clients })
    return new Retention({ db: this.db, clock: this.clock, log: silentLog, config: configOf(maxShare, days), clocks })
  }

  async deliver(days: number, count = 1): Promise<void> {
    const deliveries = Array.from({ length: count }, () => ({
      account: 'acme',
      deliveryId: `d${Math.random()}`,
      receivedAt: timeFromMs(Date.now() - days * DAY),
      headers: {},
      secret: 1,
      body: Buffer.from('{}'),
    }))
    await new InboxAppender(this.db).append(deliveries)
    await runSql(this.db, sql`update sync_inbox set state = 'done'`)
  }

  async bodies(): Promise<number> {
    return (await this.db.read.sql.selectFrom('sync_inbox').select('inbox_id').where('body', 'is not', null).execute()).length
  }

  async move(table: 'changes' | 'sync_upkeep', column: string, ms: number): Promise<void> {
    await this.db.write('test', (tx) =>
      tx.run(sql`update ${sql.table(table)} set ${sql.ref(column)} = ${timeValue(tx, timeFromMs(Date.now() + ms))}`),
    )
  }
}

async function stagedOn(open: TestDatabase['open']): Promise<Stage> {
  const stage = new Stage()
  stage.db = await openedDb(open, stage.clock)
  return stage
}

function configOf(maxShare: number, days = 30) {
  return { retention: { days, changesDays: 400, maxShare }, destinations: [], cronTimezone: 'UTC' }
}

describe.each(testDatabases)('retention on $name', ({ open }) => {
  const staged = () => stagedOn(open)

  it.each([
    ['2 hours', 2 * HOUR],
    ['500 days', 500 * DAY],
    ['20 years', 7_300 * DAY],
  ])(
    'removes nothing by a clock that is %s ahead of the service, at a start or when it steps, and continues when it is right',
    async (_, aheadMs) => {
      const stage = await staged()
      await applyAll(stage.db, [observedEvent('acme', uuid(9, 1), wireEvent(1))])
      await stage.deliver(29.99, 3)
      await stage.deliver(0, 20)
      stage.aheadMs = aheadMs
      const retention = stage.retention()
      expect(await retention.runIfDue(never)).toBe('waits')
      expect(await stage.bodies()).toBe(23)
      expect((await lastUpkeep(stage.db.read, 'retention'))?.waits_for).toMatch(/^the clocks disagree/)
      stage.aheadMs = 0
      expect(await retention.runIfDue(never)).toBe('done')
      expect(await lastUpkeep(stage.db.read, 'retention')).toMatchObject({ waits_for: null, waits_since: null })
      stage.aheadMs = aheadMs + 24 * HOUR
      expect(await retention.runIfDue(never)).toBe('waits')
      expect(await stage.bodies()).toBe(23)
    },
  )

  it("removes nothing by a clock that is far ahead while the service's time is unknown, nor by one that was set back", async () => {
    const stage = await staged()
    await stage.deliver(0, 30)
    stage.serviceMs = null
    stage.aheadMs = 500 * DAY
    expect(await stage.retention().runIfDue(never)).toBe('waits')
    expect(await stage.bodies()).toBe(30)
    stage.aheadMs = 0
    await stage.deliver(-500)
    expect(await stage.retention().runIfDue(never)).toBe('waits')
    stage.serviceMs = 400
    expect(await stage.retention().runIfDue(never)).toBe('done')
    expect(await stage.bodies()).toBe(31)
  })

  it('asks before it removes more than the usual share, and takes place once it is confirmed', async () => {
    const stage = await staged()
    await stage.deliver(500, 8)
    await stage.deliver(0, 2)
    const retention = stage.retention()
    expect(await retention.runIfDue(never)).toBe('waits')
    const { waits_for, waits_since } = (await lastUpkeep(stage.db.read, 'retention')) ?? {}
    expect(waits_for).toBe('it would remove 80 % of the deliveries in one run, more than RETENTION_MAX_SHARE (50 %) allows')
    expect(await retention.runIfDue(never)).toBe('waits')
    expect((await lastUpkeep(stage.db.read, 'retention'))?.waits_since, 'since the first time').toBe(waits_since)
    const a = { db: stage.db, clock: stage.clock, signal: never, observer: silentObserver, who: 'command' }
    expect(await retentionState(a, configOf(50))).toMatchObject({ done: false, deliveries: { rows: 8, of: 10 }, waits_for })
    expect(await stage.bodies()).toBe(10)
    await confirmRetention(a, configOf(50))
    expect(await retention.runIfDue(never)).toBe('done')
    expect(await stage.bodies()).toBe(2)
    expect(await retentionState(a, configOf(50))).toMatchObject({ done: true, waits_for: null })
    const actions = await stage.db.read.sql.selectFrom('operator_actions').select('action').execute()
    expect(actions).toEqual([{ action: 'retention.run' }])
  })

  it('asks for the change log too', async () => {
    const stage = await staged()
    await applyEach(stage.db, [1, 2, 3, 4], (n) => observedEvent('acme', uuid(9, n), wireEvent(n)))
    await stage.move('changes', 'changed_at', -401 * DAY)
    await stage.deliver(0)
    expect(await stage.retention().runIfDue(never)).toBe('waits')
    expect((await lastUpkeep(stage.db.read, 'retention'))?.waits_for).toMatch(/100 % of the changes/)
    expect(await stage.retention(100).runIfDue(never)).toBe('done')
  })

  it('never asks for what fell due since the last night, in however small a mirror', async () => {
    const stage = await staged()
    expect(await stage.retention().runIfDue(never)).toBe('done')
    await stage.deliver(30.5, 5)
    await stage.move('sync_upkeep', 'began_at', -DAY)
    await runSql(stage.db, sql`update sync_upkeep set slot = '2020-01-01'`)
    expect(await stage.retention().runIfDue(never)).toBe('done')
    expect(await stage.bodies()).toBe(0)
    await stage.deliver(20, 5)
    expect(await stage.retention(50, 10).runIfDue(never)).toBe('waits')
  })

  it('continues automatically seven days later, while the service confirms the clock', async () => {
    const stage = await staged()
    await stage.deliver(60, 5)
    expect(await stage.retention().runIfDue(never)).toBe('waits')
    await stage.move('sync_upkeep', 'waits_since', -7 * DAY - 1_000)
    stage.serviceMs = null
    expect(await stage.retention().runIfDue(never)).toBe('waits')
    stage.serviceMs = 0
    expect(await stage.retention().runIfDue(never)).toBe('done')
    expect(await stage.bodies()).toBe(0)
  })
})

describe.each(testDatabases.filter(({ name }) => name === 'postgres'))('retention next to a server on $name', ({ open }) => {
  it('removes nothing while the clock of the process is hours from that of the server', async () => {
    const stage = await stagedOn(open)
    await stage.deliver(31, 1)
    await stage.deliver(0, 30)
    stage.aheadMs = 3 * HOUR
    stage.serviceMs = 3 * HOUR
    expect(await stage.retention().runIfDue(never)).toBe('waits')
    stage.aheadMs = -3 * HOUR
    stage.serviceMs = -3 * HOUR
    expect(await stage.retention().runIfDue(never)).toBe('waits')
  })
})
