import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { LeaseLostError } from '../../../src/base/errors.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { type ResendProgress, stepResend } from '../../../src/push/queue/resend.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { beginAction } from '../../../src/store/operators/actions.ts'
import { findDestination } from '../../../src/store/outbox/destinations.ts'
import { claimReads } from '../../../src/store/reads/claims.ts'
import { addReads, rank } from '../../../src/store/reads/reads.ts'
import { listReadsOff, putOffReads, setReadsOffBySettings, switchReadOff } from '../../../src/store/reads/reads-off.ts'
import { claimWaitingRun, endRun, ensureReconcileRows, type RunClaim, requestRun, stopRun } from '../../../src/store/reconcile/claims.ts'
import { listRuns } from '../../../src/store/reconcile/runs.ts'
import { requestSlot } from '../../../src/store/reconcile/slots.ts'
import { removeChanges } from '../../../src/store/upkeep/retention.ts'
import { claimUpkeep } from '../../../src/store/upkeep/upkeep.ts'
import { ACCOUNT, destinationOf, fanAll, openedDbs } from '../../push/outbox.ts'
import { postgresDatabase, runSql } from '../../tools/databases.ts'
import { overlap } from '../../tools/held-open.ts'
import { applyEach } from '../../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'

const SUBMISSION = uuid(9, 1)
const DAY_MS = 86_400_000
const request = { account: ACCOUNT, options: {}, requestedBy: 'admin:ann' }

async function opened(): Promise<[Db, Db]> {
  return (await openedDbs(postgresDatabase.open, 2)) as [Db, Db]
}

const stateOfRun = async (db: Db) => (await listRuns(db.read)).map(({ state }) => state)

describe('a reconcile run', () => {
  const requested = async (): Promise<[Db, Db, string]> => {
    const [one, two] = await opened()
    await ensureReconcileRows(one, [ACCOUNT])
    return [one, two, await requestRun(one, request)]
  }

  it('stays stopped if it is stopped while it begins', async () => {
    const [one, two, run_id] = await requested()
    const [begun, isStopped] = await overlap(
      one,
      'reconcile-claim',
      (held) => claimWaitingRun(held, ACCOUNT),
      () => stopRun(two, { account: ACCOUNT, run_id }, 'ann stopped it'),
    )
    expect(isStopped).toBe(true)
    await expect(endRun(one, begun as RunClaim, { state: 'done', exitCode: 0, note: null })).rejects.toThrow(LeaseLostError)
    expect(await stateOfRun(one)).toEqual(['stopped'])
  })

  it('does not begin if it is being stopped', async () => {
    const [one, two, run_id] = await requested()
    const [, begun] = await overlap(
      one,
      'reconcile-stop',
      (held) => stopRun(held, { account: ACCOUNT, run_id }, 'ann stopped it'),
      () => claimWaitingRun(two, ACCOUNT),
    )
    expect(begun).toBeNull()
    expect(await stateOfRun(one)).toEqual(['stopped'])
  })

  it.each([
    ['twice at the same time', 'reconcile-request', (db: Db) => requestRun(db, request)],
    ['by a person and by the schedule', 'reconcile-slot', (db: Db) => requestSlot(db, ACCOUNT, timeFromMs(Date.now()))],
  ] as const)('waits once if it is requested %s', async (_, name, first) => {
    const [one, two] = await opened()
    await ensureReconcileRows(one, [ACCOUNT])
    await overlap(one, name, first, () => requestRun(two, request))
    expect(await stateOfRun(one)).toEqual(['requested'])
  })
})

describe('a read', () => {
  it('that the settings switch off stays off by the settings if the service refuses it', async () => {
    const [one, two] = await opened()
    const [, wasOn] = await overlap(
      one,
      'read-switch',
      (held) => setReadsOffBySettings(held, ACCOUNT, ['workspace']),
      () => switchReadOff(two, ACCOUNT, 'workspace', 'refused', DAY_MS),
    )
    expect([wasOn, (await listReadsOff(one.read)).map(({ cause }) => cause)]).toEqual([false, ['settings']])
  })

  it('is switched off once if two processes see it refused', async () => {
    const [one, two] = await opened()
    const off = (db: Db) => switchReadOff(db, ACCOUNT, 'workspace', 'refused', DAY_MS)
    expect(await overlap(one, 'read-switch', off, () => off(two))).toEqual([true, false])
  })

  it('that is being claimed is not put off', async () => {
    const [one, two] = await opened()
    const place = { account: ACCOUNT, submissionId: SUBMISSION }
    await one.write('test', (tx) => addReads(tx, [place], timeFromMs(Date.now() - DAY_MS), false))
    await switchReadOff(one, ACCOUNT, 'sessions', 'refused', DAY_MS)
    const query = {
      account: ACCOUNT,
      submissionIds: [SUBMISSION],
      read: 'sessions',
      limit: 1,
      leaseMs: 60_000,
      rank: rank.routine,
    } as const
    const [claims, putOff] = await overlap(
      one,
      'read-claim',
      (held) => claimReads(held, query),
      () => putOffReads(two, ACCOUNT, 'sessions', 10),
    )
    expect([claims.length, putOff]).toEqual([1, 0])
  })
})

describe('changes that are sent again while retention removes them', () => {
  const delivered = async () => {
    const [one, two] = await opened()
    const to = destinationOf('ams')
    await applyEach(one, [1, 2, 3], (n) => observedEvent(ACCOUNT, SUBMISSION, wireEvent(n)))
    await fanAll(one, [to])
    await runSql(one, sql`update sync_outbox set state = 'delivered', settled_at = now()`)
    const state = await findDestination(one.read, 'ams')
    const lease = await claimUpkeep(one, 'retention', { slot: '2026-06-15', settings: '' }, 60_000)
    if (state === null || typeof lease === 'string') throw new Error('not prepared')
    const actionId = await beginAction(one, { who: 'test', action: 'destination.resend', target: 'ams', detail: {} })
    const range = { after: 0, to: state.cursor }
    const resend = (db: Db): Promise<ResendProgress | null> =>
      stepResend(db, to, state, { actionId, selection: {}, range, newIds: null }, { queued: 0, queuedTo: 0 })
    const remove = (db: Db) => removeChanges(db, { lease, before: timeFromMs(Date.now() + DAY_MS), limit: 100, after: 0 }, ['ams'])
    return { one, two, resend, remove }
  }
  const withoutChange = async (db: Db) =>
    await db.read.all(sql`select seq from sync_outbox where state = 'ready' and seq not in (select seq from changes)`)

  it('are kept until they are delivered', async () => {
    const { one, two, resend, remove } = await delivered()
    const [progress, { removed }] = await overlap(one, 'push-resend', resend, () => remove(two))
    expect([progress?.queued ?? 0, removed, await withoutChange(one)]).toEqual([expect.any(Number), 0, []])
    expect(progress?.queued).toBeGreaterThan(0)
  })

  it('are not queued if they are removed first', async () => {
    const { one, two, resend, remove } = await delivered()
    const [{ removed }, progress] = await overlap(one, 'retention', remove, () => resend(two))
    expect(removed).toBeGreaterThan(0)
    expect([progress?.queued, await withoutChange(one)]).toEqual([0, []])
  })
})
