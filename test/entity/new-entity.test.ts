import { sql } from 'kysely'
import { describe, expect, it, vi } from 'vitest'
import { migrations } from '../../migrations/index.ts'
import { tables } from '../../src/config/schema/destination.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { Observation } from '../../src/model/observations.ts'
import { personalColumns } from '../../src/model/personal.ts'
import type { StateRead } from '../../src/model/reads.ts'
import type { View } from '../../src/model/view.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { listFindings } from '../../src/store/reconcile/findings.ts'
import { startReceiver } from '../push/receiver.ts'
import { PushRig, webhookTo } from '../push/rig.ts'
import { RunRig } from '../reconcile/rig.ts'
import { testDatabases } from '../tools/databases.ts'
import { applyAll, changesOf, rowsOf } from '../tools/mirror.ts'
import { trackFact, uuid } from '../tools/observations.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { addGadgets, gadgets, gadgetView } from './gadgets.ts'

/**
 * A new table of service data is a descriptor, a reader and a migration: all else follows. Here the three are made up, and the read is one
 * with the answer of a test.
 */

const service = vi.hoisted(() => ({ view: null as unknown }))

vi.mock('../../src/model/entities.ts', async (original) => {
  const real = await original<{ entities: Entity[] }>()
  real.entities.push((await import('./gadgets.ts')).gadgets)
  return real
})

vi.mock('../../src/model/reads.ts', async (original) => {
  const real = await original<{ readKinds: string[]; stateReads: string[] }>()
  real.readKinds.push('gadgets')
  real.stateReads.push('gadgets')
  return real
})

vi.mock('../../src/read/state.ts', async (original) => {
  const real = await original<typeof import('../../src/read/state.ts')>()
  const readState: typeof real.readState = async (client, read, ...asked) =>
    read === gadgets.read ? (service.view as View) : real.readState(client, read, ...asked)
  return { ...real, readState }
})

const [ONE, TWO, THREE] = ['2026-01-05T12:00:00.000000Z', '2026-01-05T12:01:00.000000Z', '2026-01-05T12:02:00.000000Z'] as const

function shows(account: string, submissionId: string, view: View, readNo: number): Observation {
  const read: StateRead = gadgets.read
  return { kind: 'state', read, account, submissionId, cause: 'poll', view, readNo, readAt: THREE }
}

async function addTable(db: Db): Promise<void> {
  expect(await migrate(db, [...migrations, addGadgets])).toEqual(['gadgets'])
}

describe.each(testDatabases)('a made-up entity on $name', (database) => {
  it('is applied, compared and logged as its descriptor says', async () => {
    const { db } = await closedAtEnd(database.open())
    await addTable(db)
    const id = uuid(9, 1)
    let readNo = 0
    const apply = async (view: View) => {
      const last = (await changesOf(db)).length
      readNo += 1
      await applyAll(db, [shows('acme', id, view, readNo)])
      return (await changesOf(db)).slice(last)
    }
    const first = await apply(gadgetView(ONE, { a: 0.5, b: 2 }))
    expect(first.filter(({ entity }) => entity === 'gadgets')).toMatchObject([
      { submission_id: id, entity_id: '["a"]', operation: 'insert', after: { weight: 0.5, value: { deep: ['a'] }, gone_at: null } },
      { submission_id: id, entity_id: '["b"]', operation: 'insert' },
    ])
    expect(first.some(({ after }) => after !== null && 'shown_at' in after)).toBe(false)
    expect(await apply(gadgetView(TWO, { a: 0.5, b: 2 }))).toEqual([])
    expect((await rowsOf(db, gadgets)).map(({ shown_at }) => shown_at)).toEqual([TWO, TWO])
    expect(await apply(gadgetView(TWO, { a: 0.75, b: 2 }))).toMatchObject([
      { entity_id: '["a"]', operation: 'update', before: { weight: 0.5 }, after: { weight: 0.75 } },
    ])
    expect((await rowsOf(db, gadgets)).map(({ shown_at }) => shown_at)).toEqual([TWO, TWO])
    expect(await apply(gadgetView(THREE, { a: 0.75 }, false))).toEqual([])
    expect(await apply(gadgetView(THREE, { a: 0.75 }))).toMatchObject([
      { entity_id: '["b"]', operation: 'gone', before: { gone_at: null }, after: { gone_at: THREE } },
    ])
    expect(await apply(gadgetView(THREE, { a: 0.75, b: 2 }))).toMatchObject([{ entity_id: '["b"]', operation: 'update' }])
    await applyAll(db, [shows('acme', id, gadgetView(THREE, {}), 1)])
    expect((await rowsOf(db, gadgets)).map(({ gone_at }) => gone_at)).toEqual([null, null])
  })

  it('is reconciled: damage is found and repaired, and then there is none', async () => {
    const rig = await RunRig.open(database, 1)
    await addTable(rig.db)
    service.view = gadgetView(ONE, { a: 0.5, b: 2 })
    expect(await rig.reconcile()).toMatchObject({ state: 'done' })
    const before = await rowsOf(rig.db, gadgets)
    expect(before).toHaveLength(2)
    expect(await rig.reconcile()).toMatchObject({ exit_code: 0, missing: 0, different: 0, absent: 0 })
    const surplus = `insert into gadgets (account, gadget_id, submission_id) values ('default', 'c', '${rig.ids[0]}')`
    for (const statement of ["delete from gadgets where gadget_id = 'a'", "update gadgets set weight = 3, value = '[]'", surplus]) {
      await rig.db.write('test', (tx) => tx.run(sql.raw(statement)))
    }
    const run = await rig.reconcile()
    expect(run).toMatchObject({ exit_code: 0, missing: 1, different: 1, absent: 1, repaired: 3 })
    const found = await listFindings(rig.db.read, { runId: run.run_id })
    expect(found.map(({ kind, entity, entity_id, read }) => [kind, entity, entity_id, read]).sort()).toEqual([
      ['absent', 'gadgets', '["c"]', 'gadgets'],
      ['different', 'gadgets', '["b"]', 'gadgets'],
      ['missing', 'gadgets', '["a"]', 'gadgets'],
    ])
    expect((await rowsOf(rig.db, gadgets)).slice(0, 2)).toEqual(before)
    expect(await rig.reconcile()).toMatchObject({ exit_code: 0, missing: 0, different: 0, absent: 0 })
  })

  it('is pushed to a destination that names it, without what no push may hold; a snapshot has its rows too', async () => {
    const rig = await PushRig.open(database)
    await addTable(rig.db)
    expect(tables).toContain('gadgets')
    expect(personalColumns).toContain('gadgets.owner')
    const [receiver, late] = [await startReceiver(), await startReceiver()]
    const destination = webhookTo(receiver.url, { entities: ['gadgets'] })
    await rig.begin(destination)
    const id = uuid(9, 1)
    await rig.apply([trackFact('default', id), shows('default', id, gadgetView(ONE, { a: 0.5, b: 2 }), 1)])
    const snapshot = webhookTo(late.url, { name: 'late', entities: ['gadgets'], start: 'snapshot', personalFields: ['gadgets.owner'] })
    await rig.begin(destination, snapshot)
    rig.start([destination, snapshot])
    await rig.until('both have all', () => receiver.taken.length === 2 && late.taken.length === 2)
    expect(receiver.taken.map(({ type, data }) => [type, data.entity_id])).toEqual([
      ['gadgets.insert', '["a"]'],
      ['gadgets.insert', '["b"]'],
    ])
    const columns = (of: typeof receiver) => Object.keys(of.taken[0]?.data.after ?? {}).sort()
    expect(columns(receiver)).toEqual(['account', 'gadget_id', 'gone_at', 'submission_id', 'value', 'weight'])
    expect(columns(late)).toEqual(['account', 'gadget_id', 'gone_at', 'owner', 'submission_id', 'value', 'weight'])
  })
})
