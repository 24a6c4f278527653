import { type AccountConfig, type Config, proxySettings } from '../config/config.ts'
import { createUpstreamClient, type UpstreamClient, type UpstreamOptions } from './client.ts'

export type UpstreamParts = Pick<UpstreamOptions, 'clock' | 'observer' | 'log' | 'apiChanges' | 'credentialUses' | 'pauses'>

/** Settings that decide whether the service accepts an account's requests. */
export function accessOf({ baseUrl, clientCredentials, scope }: AccountConfig): unknown {
  return [baseUrl, clientCredentials, scope]
}

/**
 * Creates the client of a configured account.
 * @throws Error if the account isn't configured.
 */
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
