import { type Config, proxySettings } from '../config/config.ts'
import { createUpstreamClient, type UpstreamClient, type UpstreamOptions } from './client.ts'

/** The shared parts of every client. */
export type UpstreamParts = Pick<UpstreamOptions, 'clock' | 'observer' | 'log' | 'drift' | 'credentialUses'>

/** Creates the client of a configured account. @throws Error when there is no account of that name. */
export function createAccountClient(config: Config, account: string, parts: UpstreamParts): UpstreamClient {
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
    ...parts,
  })
}
