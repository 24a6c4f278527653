import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dbTime } from '../../src/store/engine/sql.ts'
import { hook, withSettings } from '../config/support.ts'
import { ACCOUNT } from './checks.ts'
import type { KillPoint } from './points.ts'
import type { CrashRig } from './rig.ts'

const OPERATOR = 'oncall'

const operator = createServer((_, response) => response.writeHead(204).end()).listen(0, '127.0.0.1')
operator.unref()

export const alarmPoints: readonly KillPoint[] = [
  ...['alarm-watch', 'alarms'].map((transaction): KillPoint => ({ transaction, before: nobodyWatches })),
  ...['notice-claim', 'notice-settle'].map((transaction): KillPoint => ({ transaction, before: somethingToTell, settings })),
]

async function nobodyWatches(rig: CrashRig): Promise<void> {
  const db = await rig.store()
  await db.write('test', (tx) => tx.sql.deleteFrom('sync_alarm_watch').execute())
}

async function somethingToTell(rig: CrashRig): Promise<void> {
  const db = await rig.store()
  await db.write('test', async (tx) => {
    const key = { name: 'record_conflict', account: ACCOUNT, destination: '' }
    const now = dbTime(tx)
    await tx.sql.deleteFrom('alarms').execute()
    await tx.sql.deleteFrom('sync_alert_messages').execute()
    await tx.sql
      .insertInto('alarms')
      .values({ ...key, state: 'firing', severity: 'warning', since: now, last_at: now, text: 'a test made it' })
      .execute()
    await tx.sql
      .insertInto('sync_alert_messages')
      .values({ ...key, operator: OPERATOR, notice_id: randomUUID(), kind: 'firing', body: '{}', queued_at: now, due_at: now, attempts: 0 })
      .execute()
  })
}

/** The account of the environment, moved to the settings file, which alone can name recipients. */
function settings({ sandbox }: CrashRig): Record<string, string> {
  const { credentials, webhookSecret } = sandbox.account(ACCOUNT)
  const account = {
    name: ACCOUNT,
    default: true,
    base_url: sandbox.baseUrl,
    webhook_secrets: [webhookSecret],
    client_credentials: credentials.map(({ clientId, clientSecret }) => ({ id: clientId, secret: clientSecret })),
  }
  const url = `http://127.0.0.1:${(operator.address() as AddressInfo).port}/`
  const oncall = { name: OPERATOR, kind: 'webhook', url, secret: '${ONCALL_SECRET}', allow_private: true }
  const none = { BROKER_API_BASE_URL: '', BROKER_API_CLIENT_ID: '', BROKER_API_CLIENT_SECRET: '', WEBHOOK_SECRETS: '' }
  return { ...none, ...withSettings({ accounts: [account], operators: [oncall] }, { ONCALL_SECRET: hook(9) }) } as Record<string, string>
}
