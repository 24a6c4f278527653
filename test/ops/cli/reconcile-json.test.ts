import { expect, it } from 'vitest'
import type { FindingRow } from '../../../src/store/reconcile/findings.ts'
import type { RunRow } from '../../../src/store/reconcile/runs.ts'
import { json } from '../../app/run.ts'
import { ACCOUNT, DamageRig } from '../../reconcile/damage/rig.ts'
import { onSqlite } from '../../tools/databases.ts'

const PAGE = 1_000

it.each(onSqlite)('reconcile --json prints every finding, on $name', async (database) => {
  const rig = await DamageRig.open(database)
  const events = Array.from({ length: PAGE + 1 }, () => ({ type: 'market_submitted', market_name: 'Alder' }))
  rig.sandbox.addEvents(ACCOUNT, rig.plain, events)
  const ended = await rig.reconcile('--submission', rig.plain, '--no-state', '--json')
  const [run, ...others] = json<(RunRow & { readonly findings: readonly FindingRow[] })[]>(ended)
  expect(others).toEqual([])
  expect(run).toMatchObject({ run_id: ended.run.run_id, moved: events.length, exit_code: 0 })
  expect(run?.findings.map(({ finding_no }) => finding_no)).toEqual(events.map((_, index) => index + 1))
})
