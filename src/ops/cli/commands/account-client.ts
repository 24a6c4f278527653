import type { Observer } from '../../../base/observer.ts'
import { CredentialUses } from '../../../poll/credential-uses.ts'
import { createAccountClient } from '../../../upstream/account-client.ts'
import type { UpstreamClient } from '../../../upstream/client.ts'
import { DriftRecorder } from '../../metrics/drift-recorder.ts'
import { Heartbeat } from '../../status/heartbeat.ts'
import type { CommandContext, OpenStore } from './context.ts'

interface Reading {
  readonly role: 'sync' | 'reconcile'
  readonly account: string
  readonly observer: Observer
  readonly looksOnly?: boolean
}

/**
 * Calls `work` with the client of an account. A command that reads beside a running `serve` shares its rate, so its process is registered
 * before the first request and until `work` ends.
 */
export async function withAccountClient<T>(
  { clock, version }: CommandContext,
  { config, db, log }: OpenStore,
  { role, account, observer, looksOnly }: Reading,
  work: (client: UpstreamClient) => Promise<T>,
): Promise<T> {
  const drift = new DriftRecorder(db, log)
  const credentialUses = new CredentialUses(db, clock, log)
  const client = createAccountClient(config, account, { clock, observer, log, drift, credentialUses })
  const done = new AbortController()
  const heartbeat = new Heartbeat(db, log, { id: db.processId, role, version }, ({ reading }) => client.shareAmong(reading), {
    looksOnly: looksOnly ?? false,
  })
  await heartbeat.beat()
  const beating = heartbeat.run(done.signal)
  // Awaited below; until then its rejection must not count as unhandled.
  beating.catch(() => undefined)
  try {
    return await work(client)
  } finally {
    done.abort()
    await beating
    await client.close()
    if (!looksOnly) await Promise.all([drift.write(), credentialUses.write()])
  }
}
