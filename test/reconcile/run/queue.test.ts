import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { countSubmissions, submissionsOf } from '../../../src/reconcile/run/queue.ts'
import { newRun, type RunRow } from '../../../src/store/reconcile/runs.ts'
import { runSql, testDatabases } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'
import { ACCOUNT, RunRig } from '../rig.ts'

const OTHER_RUN = 'another'

const day = (n: number) => `2026-03-${String(n).padStart(2, '0')}T12:00:00.000000Z`

describe.each(testDatabases)('the queue of a run on $name', (database) => {
  /** Results of earlier runs: days of each submission's last visit and last reconciliation. */
  async function withReconciled(rig: RunRig, proofs: readonly (readonly [string, number, number | null])[]): Promise<void> {
    await rig.db.write('test', async (tx) => {
      for (const [submission_id, visited, reconciled] of proofs) {
        const proof = { account: ACCOUNT, submission_id, run_id: OTHER_RUN, visited_at: day(visited) }
        await tx.sql
          .insertInto('sync_reconciled')
          .values({ ...proof, reconciled_at: reconciled === null ? null : day(reconciled) })
          .execute()
      }
    })
  }

  async function runOf(rig: RunRig, over: Partial<RunRow>): Promise<RunRow> {
    const run = await rig.db.write('test', async (tx) => newRun(tx, { account: ACCOUNT, options: {}, requestedBy: 'command' }, 'running'))
    return { ...run, started_at: day(20), ...over }
  }

  async function orderOf(rig: RunRig, over: Partial<RunRow> = {}): Promise<string[]> {
    const found: string[] = []
    const queue = submissionsOf(rig.db.read, await runOf(rig, over), new AbortController().signal)
    for await (const { submissionId } of queue) found.push(submissionId)
    return found
  }

  it('starts with unvisited submissions; unreconciled ones follow by their last visit', async () => {
    const rig = await RunRig.open(database, 7)
    const [failing = '', failed = '', reconciled = '', older = '', lost = '', fresh = '', oldest = ''] = rig.ids
    await withReconciled(rig, [
      [failing, 12, null],
      [failed, 4, null],
      [reconciled, 10, 10],
      [older, 5, 5],
      [lost, 11, 1],
      [oldest, 3, 3],
    ])
    expect(await orderOf(rig)).toEqual([fresh, oldest, failed, older, reconciled, lost, failing])
  })

  it('contains every unvisited submission, with any clock of the last process', async () => {
    const rig = await RunRig.open(database, 2)
    const [first = '', second = ''] = rig.ids
    await withReconciled(rig, [
      [first, 10, 10],
      [second, 25, 25],
    ])
    expect(await orderOf(rig)).toEqual([first, second])
    expect(await orderOf(rig, { run_id: OTHER_RUN })).toEqual([])
  })

  it('contains submissions known only from a reconciliation, any number of them', async () => {
    const rig = await RunRig.open(database, 2)
    const [first = '', second = ''] = rig.ids
    const lost = Array.from({ length: 501 }, (_, n) => [uuid(7, n), 2, 2] as const)
    await withReconciled(rig, [[first, 1, 1], ...lost, [second, 3, 3]])
    expect(await orderOf(rig)).toEqual([first, ...lost.map(([id]) => id), second])
  })

  it('of chosen submissions contains each once, except excluded and visited ones', async () => {
    const rig = await RunRig.open(database, 3)
    const [first = '', second = '', still = ''] = rig.ids
    await runSql(rig.db, sql`update sync_reads set active_at = ${day(1)} where submission_id = ${still}`)
    const options = { submissions: [second, still, first, second, uuid(7, 1)], since: day(2) }
    expect(await orderOf(rig, { options })).toEqual([first, second])
    expect(await countSubmissions(rig.db.read, await runOf(rig, { options }), new AbortController().signal)).toBe(2)
    await withReconciled(rig, [[first, 10, 10]])
    expect(await orderOf(rig, { options, run_id: OTHER_RUN })).toEqual([second])
  })

  it('of a resumed run contains unvisited submissions, and those possibly visited by another run', async () => {
    const rig = await RunRig.open(database, 4)
    const [before = '', seen = '', since = '', reconciled = ''] = rig.ids
    await withReconciled(rig, [
      [before, 19, null],
      [seen, 21, null],
      [since, 23, null],
      [reconciled, 19, 10],
    ])
    expect(await orderOf(rig, { submissions_done: 1 })).toEqual([before, reconciled])
    await rig.claim()
    await runSql(rig.db, sql`update reconcile_runs set started_at = ${day(22)}`)
    expect(await orderOf(rig, { submissions_done: 1 })).toEqual([before, reconciled, since])
  })
})
