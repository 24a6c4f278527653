import { type Config, proxySettings } from '../config/config.ts'
import { createUpstreamClient, type UpstreamClient, type UpstreamOptions } from './client.ts'

/** The shared parts of every client. */
export type UpstreamParts = Pick<UpstreamOptions, 'clock' | 'observer' | 'log' | 'drift'>

/** Creates the client of a configured account. @throws Error when there is no account of that name. */
export function createAccountClient(config: Config, account: string, { clock, observer, log, drift }: UpstreamParts): UpstreamClient {
  const settings = config.accounts.find((each) => each.name === account)
  if (!settings) throw new Error(`there is no account ${account} in the settings`)
  const { baseUrl, credentials, scope } = settings
  const { requestsPerSecond } = config.upstream
  return createUpstreamClient({
    account,
    baseUrl,
    credentials,
    scope,
    requestsPerSecond,
    proxy: proxySettings(config),
    clock,
    observer,
    log,
    drift,
  })
}
