import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { UpstreamClient } from '../../../src/upstream/client.ts'
import { onSqlite, runSql } from '../../tools/databases.ts'
import { RunRig } from '../rig.ts'
import { DamageRig, findingTexts } from './rig.ts'

/** Numbers far ahead, as after a restored table. */
const AHEAD = 'update sync_reads set applied_no = 99999999, cursor_no = 99999999'
const STATE = ["update lanes set status = 'WRONG', bound = true", 'update quotes set total_cents = 1']

describe.each(onSqlite)('damaged read numbers, on $name', (database) => {
  it('do not prevent a repair of the state', async () => {
    const rig = await DamageRig.open(database)
    const before = await rig.state()
    await rig.damage(AHEAD, ...STATE)
    const dry = await rig.reconcile('--dry-run')
    const ended = await rig.reconcile()
    expect({ code: dry.code, left: dry.findings.length }).toEqual({ code: 3, left: 4 })
    expect({ code: ended.code, found: findingTexts(ended.findings) }).toEqual({ code: 0, found: findingTexts(dry.findings) })
    expect(ended.run).toMatchObject({ different: 4, repaired: 4 })
    expect(await rig.differences()).toEqual([])
    for (const table of ['lanes', 'quotes']) expect((await rig.state())[table]).toEqual(before[table])
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it('do not prevent polls from repairing it and moving cursors', async () => {
    const rig = await DamageRig.open(database)
    await rig.damage(AHEAD, ...STATE)
    const event = rig.sandbox.addEvent('default', rig.plain, { type: 'status_changed' }, { quiet: true })
    await rig.command('sync', '--all')
    expect(await rig.differences()).toEqual([])
    expect((await rig.state())['market_events']).toContainEqual(expect.objectContaining({ event_id: event.id }))
    const reads = await rig.db.read.sql.selectFrom('sync_reads').select(['issued_no', 'applied_no', 'cursor_no']).execute()
    expect(reads.filter((row) => row.issued_no < row.applied_no || row.issued_no < row.cursor_no)).toEqual([])
  })
})

describe.each(onSqlite)('an overtaken state read of a run, on $name', (database) => {
  /** Applies another later read first, `often` times. */
  function overtaken(rig: RunRig, often: number): UpstreamClient {
    let left = often
    return {
      ...rig.client,
      state: async (read, ...asked) => {
        const view = await rig.client.state(read, ...asked)
        if (read === 'requirements' && left > 0) {
          left -= 1
          await runSql(rig.db, sql`update sync_reads set issued_no = issued_no + 1, applied_no = issued_no + 1`)
        }
        return view
      },
    }
  }

  const wrong = async (rig: RunRig) => {
    await rig.db.write('test', (tx) => tx.sql.updateTable('submissions').set({ insured_name: 'Wrong' }).execute())
  }
  const proofs = (rig: RunRig) => rig.db.read.sql.selectFrom('sync_reconciled').select(['run_id', 'reconciled_at']).execute()

  it('is repeated, and repairs the difference', async () => {
    const rig = await RunRig.open(database, 1)
    await rig.reconcile()
    await wrong(rig)
    // The first is only compared; the second, for the repair, is overtaken.
    const run = await rig.reconcile({}, { client: overtaken(rig, 2) })
    expect(run).toMatchObject({ exit_code: 0, different: 1, repaired: 1, unreadable: 0 })
    expect(await rig.reconcile()).toMatchObject({ exit_code: 0, different: 0 })
  })

  it('reconciles nothing if overtaken repeatedly', async () => {
    const rig = await RunRig.open(database, 1)
    await rig.reconcile()
    const before = await proofs(rig)
    await wrong(rig)
    const run = await rig.reconcile({}, { client: overtaken(rig, 100) })
    expect(run).toMatchObject({ exit_code: 1, different: 0, repaired: 0, unreadable: 1 })
    expect(await proofs(rig)).toEqual(before)
  })
})
