import { sql } from 'kysely'
import { timeFromMs } from '../../src/model/time.ts'
import { withSettings } from '../config/support.ts'
import { ACCOUNT } from './checks.ts'
import type { KillPoint } from './points.ts'
import type { CrashRig } from './rig.ts'

const PATHS = ['/broker/submissions', '/broker/insureds', '/broker/insureds/{insured_id}']

export const discoveryPoints: readonly KillPoint[] = ['path-add', 'path-claim', 'discovery-track', 'extra-read', 'path-settle'].map(
  (transaction): KillPoint => ({ transaction, before: addUnlisted, settings }),
)

/** A submission that only a list names. When the product has settled, it has found the submission. */
async function addUnlisted(rig: CrashRig): Promise<void> {
  const id = rig.sandbox.addSubmission(ACCOUNT)
  rig.sandbox.addEvents(ACCOUNT, id, [{ type: 'market_attached' }, { type: 'declined' }], { quiet: true })
  rig.touched.add(id)
  const db = await rig.store()
  await db.write('test', (tx) => tx.run(sql`update sync_path_reads set due_at = ${timeFromMs(0)}, lease_token = null`))
}

/** The account of the environment, moved to the settings file, which alone can name paths. */
function settings({ sandbox }: CrashRig): Record<string, string> {
  const { credentials, webhookSecret } = sandbox.account(ACCOUNT)
  const account = {
    name: ACCOUNT,
    default: true,
    base_url: sandbox.baseUrl,
    webhook_secrets: [webhookSecret],
    client_credentials: credentials.map(({ clientId, clientSecret }) => ({ id: clientId, secret: clientSecret })),
    discovery: { paths: PATHS, every: '1m' },
    extra_reads: [
      { name: 'detail', path: '/broker/submissions/{submission_id}' },
      { name: 'wrong', path: '/broker/nothing/{submission_id}' },
    ],
  }
  const none = { BROKER_API_BASE_URL: '', BROKER_API_CLIENT_ID: '', BROKER_API_CLIENT_SECRET: '', WEBHOOK_SECRETS: '' }
  return { ...none, ...withSettings({ accounts: [account] }) } as Record<string, string>
}
