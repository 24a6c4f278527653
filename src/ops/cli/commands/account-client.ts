import type { Observer } from '../../../base/observer.ts'
import { AccountPauses } from '../../../poll/account-pauses.ts'
import { LastUses } from '../../../store/reads/last-uses.ts'
import { LONG_PAUSE_MS } from '../../../store/reads/pauses.ts'
import { createAccountClient } from '../../../upstream/account-client.ts'
import type { UpstreamClient } from '../../../upstream/client.ts'
import { ApiChangeRecorder } from '../../metrics/api-change-recorder.ts'
import { Heartbeat } from '../../status/heartbeat.ts'
import type { CommandContext, OpenStore } from './context.ts'

interface Reading {
  readonly role: 'sync' | 'reconcile'
  readonly account: string
  readonly observer: Observer
  readonly looksOnly?: boolean
}

/**
 * Calls `work` with a client of an account. Registers this process before the first request. The registration ends with
 * `work`.
 * Registered processes share the request rate with `serve`. They also share pauses that the service asks for.
 */
export async function withAccountClient<T>(
  { clock, version, host }: CommandContext,
  { config, db, log }: OpenStore,
  { role, account, observer, looksOnly }: Reading,
  work: (client: UpstreamClient) => Promise<T>,
): Promise<T> {
  const apiChanges = new ApiChangeRecorder(db, log)
  const credentialUses = new LastUses(db, log)
  const clients = new Map<string, UpstreamClient>()
  const report = (_account: string, sentence: string, ms: number) => {
    // For a pause longer than `LONG_PAUSE_MS`, `sync` fails with an error about the pause. Print nothing in this case.
    if (role === 'reconcile' || ms <= LONG_PAUSE_MS) host.stderr.write(`${sentence}; this command waits\n`)
  }
  const pauses = new AccountPauses({ db, clock, log, clients: () => clients, report })
  const client = createAccountClient(config, account, { clock, observer, log, apiChanges, credentialUses, pauses })
  clients.set(account, client)
  const done = new AbortController()
  const heartbeat = new Heartbeat(db, log, { id: db.processId, role, version }, ({ reading }) => client.shareAmong(reading), {
    looksOnly: looksOnly ?? false,
  })
  await heartbeat.beat()
  await pauses.exchange()
  const beating = Promise.all([heartbeat.run(done.signal), pauses.run(done.signal)])
  // `beating` is awaited only after `work`. Without this handler, a rejection during `work` would end the process.
  beating.catch(() => undefined)
  try {
    return await work(client)
  } finally {
    done.abort()
    await beating
    await client.close()
    if (!looksOnly) await Promise.all([apiChanges.write(), credentialUses.write()])
  }
}
