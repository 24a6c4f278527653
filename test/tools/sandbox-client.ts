import { systemClock } from '../../src/base/clock.ts'
import { silentObserver } from '../../src/base/observer.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import { createUpstreamClient, type UpstreamClient, type UpstreamOptions } from '../../src/upstream/client.ts'
import { silentLog } from './databases.ts'

export function sandboxClient(
  sandbox: Pick<Sandbox, 'account' | 'baseUrl'>,
  account: string,
  others: Partial<UpstreamOptions> = {},
): UpstreamClient {
  return createUpstreamClient({
    account,
    baseUrl: sandbox.baseUrl,
    credentials: sandbox.account(account).credentials.map((c) => ({ id: c.clientId, secret: { reveal: () => c.clientSecret } })),
    scope: 'broker_mcp',
    requestsPerSecond: 5_000,
    proxy: {},
    clock: systemClock,
    observer: silentObserver,
    log: silentLog,
    ...others,
  })
}
