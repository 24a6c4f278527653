import type { Clock } from '../clock.ts'
import { type Config, proxySettings } from '../config.ts'
import type { Observer } from '../observe.ts'
import { createUpstreamClient, type UpstreamClient } from '../upstream/client.ts'

/** The client of one account of the settings. @throws Error when there is no account of that name. */
export function clientOf(config: Config, account: string, clock: Clock, observer: Observer): UpstreamClient {
  const settings = config.accounts.find((each) => each.name === account)
  if (!settings) throw new Error(`there is no account ${account} in the settings`)
  const { baseUrl, credentials, scope } = settings
  const { requestsPerSecond } = config.upstream
  return createUpstreamClient({ account, baseUrl, credentials, scope, requestsPerSecond, proxy: proxySettings(config), clock, observer })
}
