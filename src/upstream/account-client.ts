import { type AccountConfig, type Config, proxySettings } from '../config/config.ts'
import { createUpstreamClient, type UpstreamClient, type UpstreamOptions } from './client.ts'

/** The shared parts of every client. */
export type UpstreamParts = Pick<UpstreamOptions, 'clock' | 'observer' | 'log' | 'drift' | 'credentialUses' | 'pauses'>

/** What the service may refuse of an account. After a change it is asked again. */
export function accessOf({ baseUrl, clientCredentials, scope }: AccountConfig): unknown {
  return [baseUrl, clientCredentials, scope]
}

/** Creates the client of a configured account. @throws Error when there is no account of that name. */
export function createAccountClient(config: Config, account: string, parts: UpstreamParts): UpstreamClient {
  const settings = config.accounts.find((each) => each.name === account)
  if (!settings) throw new Error(`there is no account ${account} in the settings`)
  const { baseUrl, clientCredentials, scope } = settings
  return createUpstreamClient({
    account,
    baseUrl,
    credentials: clientCredentials,
    scope,
    requestsPerSecond: config.upstream.rps,
    proxy: proxySettings(config),
    ...parts,
  })
}
