import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { Overview } from '../../../src/ops/operations/overview.ts'
import { SumKeeper } from '../../../src/ops/status/sum-keeper.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { lastUpkeep } from '../../../src/store/upkeep/upkeep.ts'
import { openAgain, runSql, silentLog, testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { byWebhook, observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { AdminRig } from '../http/rig.ts'

const FOUND = /`serve` counts this once a minute/

function keeperOf({ opened: { db, config } }: AdminRig): SumKeeper {
  return new SumKeeper({ db, clock: db.clock, log: silentLog, database: config })
}

async function makeLarge(db: Db): Promise<void> {
  await runSql(db, sql`update mirror_info set first_seq = 1000001, last_seq = 1000000`)
}

describe.each(testDatabases)('sums over everything, as requests get them on $name', (database) => {
  it('of a large mirror are those that one process counts once a minute, with their time', async () => {
    const rig = await AdminRig.open(database)
    try {
      const { db } = rig.opened
      await applyAll(db, [observedEvent('default', uuid(9, 1), wireEvent(1), byWebhook)])
      expect((await rig.ask('GET', '/completeness')).json).toMatchObject({ items: [{ submissions: 1 }], counted_at: null })
      await makeLarge(db)

      const uncounted = { known: null, unreachable: null, never_read: 1 }
      expect((await rig.ask<Overview>('GET', '/overview')).json).toMatchObject({ submissions: uncounted, counted_at: null })
      for (const path of ['/completeness', '/coverage', '/status']) {
        const { status, text } = await rig.ask('GET', path)
        expect(status, path).toBe(409)
        expect(text).toMatch(FOUND)
      }

      expect(await keeperOf(rig).count(db)).toBe('ran')
      const counted = (await rig.ask<Overview>('GET', '/overview')).json
      expect(counted).toMatchObject({ submissions: { known: 1, unreachable: 0, never_read: 1 }, counted_at: expect.any(String) })
      await applyAll(db, [observedEvent('default', uuid(9, 2), wireEvent(2), byWebhook)])
      const shown = { counted_at: counted.counted_at }
      expect((await rig.ask('GET', '/overview')).json).toMatchObject({ ...shown, submissions: { known: 1, never_read: 2 } })
      expect((await rig.ask('GET', '/completeness')).json).toMatchObject({ ...shown, items: [{ account: 'default', submissions: 1 }] })
      expect((await rig.ask('GET', '/status')).json).toMatchObject({ ...shown, accounts: [{ submissions: 1 }] })
      const coverage = (await rig.ask<{ accounts: { tables: unknown[] }[] }>('GET', '/coverage')).json
      expect(coverage).toMatchObject(shown)
      expect(coverage.accounts[0]?.tables).toContainEqual(expect.objectContaining({ table: 'market_events', rows: 1 }))
    } finally {
      await rig.close()
    }
  })

  it('are counted by one of several processes, and not again in the same minute', async () => {
    const rig = await AdminRig.open(database)
    const other = await openAgain(rig.opened.config)
    try {
      const { db } = rig.opened
      const keepers = [keeperOf(rig), new SumKeeper({ db: other, clock: other.clock, log: silentLog, database: rig.opened.config })]
      const outcomes = await Promise.all(keepers.map((keeper) => keeper.count(db)))
      expect(outcomes).toContain('ran')
      expect(await lastUpkeep(db.read, 'sums')).toMatchObject({ note: 'counted 1 account' })
    } finally {
      await other.close()
      await rig.close()
    }
  })
})
