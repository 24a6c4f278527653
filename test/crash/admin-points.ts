import { timeFromMs } from '../../src/model/time.ts'
import { reportAlarm } from '../../src/store/operators/alarms.ts'
import { requestRun } from '../../src/store/reconcile/claims.ts'

import { sign } from '../receive/support.ts'
import { letSessionsAge } from '../store/operators/session-time.ts'
import { ACCOUNT } from './checks.ts'
import { addWork } from './load.ts'
import type { KillPoint } from './points.ts'
import type { CrashRig } from './rig.ts'

/** The admin routes of the running process, and the actions they record. */
export const adminPoints: readonly KillPoint[] = [
  ...['action-begun', 'track', 'action-ended'].map(
    (transaction): KillPoint => ({
      transaction,
      provoke: (rig) => ask(rig, '/submissions/track', { ids: [rig.sandbox.addSubmission(ACCOUNT)] }),
    }),
  ),
  {
    transaction: 'showing-noted',
    async provoke(rig) {
      const headers = { authorization: `Bearer ${rig.opsToken}` }
      await fetch(`${rig.ops}/api/v1/changes?after=0&whole=true&limit=5`, { headers }).catch(() => null)
    },
  },
  { transaction: 'session-begin', action: 'session.begin', provoke: async (rig) => void (await signIn(rig)) },
  {
    transaction: 'session-end',
    action: 'session.end',
    async provoke(rig) {
      await withSession(rig, await signIn(rig), 'DELETE')
    },
  },
  {
    transaction: 'session-seen',
    async provoke(rig) {
      const cookie = await signIn(rig)
      await letSessionsAge(await rig.store(), 10 * 60_000)
      await withSession(rig, cookie, 'GET')
    },
  },
  { transaction: 'reads-requested', action: 'submission.sync', provoke: (rig) => ask(rig, '/submissions/sync', { ids: [known(rig)] }) },
  {
    transaction: 'reconcile-request',
    action: 'reconcile.request',
    provoke: (rig) => ask(rig, '/reconcile-runs', { submissions: [known(rig)] }),
  },
  {
    transaction: 'reconcile-stop',
    action: 'reconcile.stop',
    async provoke(rig) {
      const db = await rig.store()
      const id = await requestRun(db, { account: ACCOUNT, options: { dry_run: true, no_state: true }, requestedBy: 'command' })
      // The run may have ended already.
      await ask(rig, `/reconcile-runs/${id}/stop`, undefined, [200, 409])
    },
  },
  {
    transaction: 'alarm-acknowledge',
    action: 'alarm.acknowledge',
    async provoke(rig) {
      const at = timeFromMs(Date.now())
      const alarm = { name: 'record_conflict', account: ACCOUNT, destination: '', severity: 'warning', since: at, last_at: at } as const
      const db = await rig.store()
      await reportAlarm(db, { ...alarm, state: 'firing', resolved_at: null, notified_at: null, text: 'a test made it' }, [])
      await ask(rig, '/alarms/acknowledge', { name: alarm.name })
    },
  },
  {
    transaction: 'inbox-replay',
    action: 'inbox.replay',
    provoke: (rig) => ask(rig, '/inbox/replay', { ids: [...rig.acknowledged.keys()].slice(0, 3) }),
  },
  {
    transaction: 'inbox-skip',
    action: 'inbox.skip',
    provoke: (rig) => ask(rig, '/inbox/skip', { ids: [...rig.acknowledged.keys()].slice(0, 3) }),
  },
  { transaction: 'upkeep-confirm', provoke: (rig) => ask(rig, '/retention/run', { confirm: true }) },
  {
    transaction: 'account-retry',
    action: 'account.resume',
    async provoke(rig) {
      const db = await rig.store()
      const suspended = { state: 'suspended', reason: 'a test suspends it', retry_at: timeFromMs(Date.now() + 60_000) } as const
      await db.write('test', (tx) => tx.sql.updateTable('sync_accounts').set(suspended).execute())
      await ask(rig, `/accounts/${ACCOUNT}/resume`)
    },
  },
  {
    transaction: 'rejected-replayed',
    async provoke(rig) {
      const body = Buffer.from('{"type":"submission.events"}')
      const headers = sign(rig.sandbox.account(ACCOUNT).webhookSecret, body)
      const refused = { account: ACCOUNT, path: '/webhooks', address: '192.0.2.1', reason: 'wrong_signature', replayed_at: null }
      const db = await rig.store()
      await db.write('test', (tx) =>
        tx.sql
          .insertInto('sync_rejected')
          .values({ ...refused, received_at: timeFromMs(Date.now()), headers: JSON.stringify(headers), body })
          .execute(),
      )
      await ask(rig, '/rejected/replay', {})
    },
  },
]

function known(rig: CrashRig): string {
  const id = rig.sandbox.submissionIds(ACCOUNT)[0] ?? addWork(rig)
  rig.touched.add(id)
  return id
}

/** Gets no answer if the process is killed during the request, and an error if the disk is full. */
export async function ask(rig: CrashRig, path: string, body?: unknown, fit: readonly number[] = [200]): Promise<void> {
  const headers = { authorization: `Bearer ${rig.opsToken}`, 'content-type': 'application/json' }
  const request = fetch(`${rig.ops}/api/v1${path}`, {
    method: 'POST',
    ...(body === undefined ? { headers: { authorization: headers.authorization } } : { headers, body: JSON.stringify(body) }),
  })
  const response = await request.catch(() => null)
  if (response && !fit.includes(response.status) && !rig.isThere)
    throw new Error(`${path} was answered ${response.status}: ${await response.text()}`)
}

/** @returns the session cookie; empty if no session began, because the process was killed or its disk is full. */
async function signIn(rig: CrashRig): Promise<string> {
  const body = JSON.stringify({ token: rig.opsToken })
  const request = fetch(`${rig.ops}/api/v1/session`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const response = await request.catch(() => null)
  return response?.headers.get('set-cookie')?.split(';')[0] ?? ''
}

async function withSession(rig: CrashRig, cookie: string, method: 'GET' | 'DELETE'): Promise<void> {
  await fetch(`${rig.ops}/api/v1/session`, { method, headers: { cookie, origin: rig.ops } }).catch(() => null)
}
