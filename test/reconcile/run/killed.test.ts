import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { listFindings } from '../../../src/store/reconcile/findings.ts'
import { listRuns } from '../../../src/store/reconcile/runs.ts'
import { runHere } from '../../app/run.ts'
import { accountEnv, databaseEnv } from '../../e2e/serve.ts'
import { compiledEnv } from '../../tools/compile-cache.ts'
import { onSqlite } from '../../tools/databases.ts'
import { programPath } from '../../tools/program.ts'
import { until } from '../../tools/until.ts'
import { RunRig } from '../rig.ts'

describe.each(onSqlite)('the command on $name', (database) => {
  it('continues after a kill, and reports nothing twice', async () => {
    const rig = await RunRig.open(database, 40)
    await rig.reconcile()
    await rig.db.write('test', async (tx) => {
      await tx.sql.deleteFrom('market_events').execute()
      await tx.sql.deleteFrom('reconcile_runs').execute()
    })
    const env = {
      PATH: process.env['PATH'] ?? '',
      ...compiledEnv(),
      ...accountEnv(rig.sandbox),
      ...databaseEnv(rig.opened.config),
      UPSTREAM_RPS: '1000',
    }
    // It can't end before it is killed.
    rig.sandbox.faults.add({ kind: 'slow', ms: 600_000, operation: 'events', submissionId: rig.ids[20] ?? '' })
    const child = spawn(process.execPath, [programPath('main'), 'reconcile', '--concurrency', '2'], { env, stdio: 'ignore' })
    const visited = async () =>
      (await rig.db.read.sql.selectFrom('reconcile_runs').select('submissions_done').execute())[0]?.submissions_done ?? 0
    await until('it has noted how far it is', async () => (await visited()) > 3)
    child.kill('SIGKILL')
    await once(child, 'close')
    const [dead] = await listRuns(rig.db.read)
    expect(dead).toMatchObject({ state: 'running' })
    expect(dead?.submissions_done).toBeLessThan(40)

    // Nobody takes over while it may be alive.
    const busy = await runHere(['reconcile'], env)
    expect(busy).toMatchObject({ code: 4, err: expect.stringContaining(`run ${dead?.run_id} is in progress`) })

    rig.sandbox.faults.set([])
    await rig.db.write('test', (tx) => tx.sql.updateTable('sync_reconcile').set({ lease_until: '2026-01-01T00:00:00.000000Z' }).execute())
    const from = rig.sandbox.activity.requests.length
    const ended = await runHere(['reconcile'], env)
    expect(ended).toMatchObject({ code: 0, err: expect.stringContaining('was interrupted and resumes') })
    const [run, ...others] = await listRuns(rig.db.read)
    expect(others).toEqual([])
    expect(run).toMatchObject({ run_id: dead?.run_id, state: 'done', submissions_done: 40, missing: 40, repaired: 40, exit_code: 0 })
    expect(new Set(rig.asked(from)).size).toBeLessThan(40)
    const found = await listFindings(rig.db.read, { runId: run?.run_id ?? '' })
    expect(new Set(found.map((one) => `${one.kind} ${one.entity} ${one.entity_id}`)).size).toBe(40)
    expect(await runHere(['reconcile'], env)).toMatchObject({ code: 0, out: expect.stringContaining('no findings') })
  })
})
