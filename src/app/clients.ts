import type { AccountConfig, Config } from '../config/config.ts'
import { sameSettings } from '../config/same-settings.ts'
import { createAccountClient, type UpstreamParts } from '../upstream/account-client.ts'
import type { UpstreamClient } from '../upstream/client.ts'

/**
 * @returns the settings that the account's client uses. Webhook secrets are left out, because only the
 * receiver uses them.
 */
export function upstreamSettings({ webhookSecrets: _, ...ours }: AccountConfig, { upstream }: Config): readonly unknown[] {
  return [ours, upstream]
}

interface Used {
  readonly settings: readonly unknown[]
  readonly client: UpstreamClient
}

/** Clients created for new settings, before the new settings are in force. */
export interface ClientChange {
  /** Key: account name. */
  readonly clients: ReadonlyMap<string, UpstreamClient>
  /** Call this when the new settings are in force. Closes clients that only the old settings used. */
  keep(): Promise<void>
  /** Call this if the old settings stay in force. Closes clients that only the new settings use. */
  discard(): Promise<void>
}

/** Holds one client per account. Replaces a client when its account's settings change. */
export class UpstreamClients {
  readonly #parts: UpstreamParts
  #used: ReadonlyMap<string, Used> = new Map()

  constructor(parts: UpstreamParts) {
    this.#parts = parts
  }

  /**
   * Creates clients for new accounts, and for accounts whose settings changed. Other accounts keep their clients. A
   * client connects on its first request.
   */
  prepare(config: Config): ClientChange {
    const before = this.#used
    const wanted = new Map(config.accounts.map((account) => [account.name, this.#usedFor(account, config)]))
    return {
      clients: new Map([...wanted].map(([name, { client }]) => [name, client])),
      keep: async () => {
        this.#used = wanted
        await closeAll(without(before, wanted))
      },
      discard: () => closeAll(without(wanted, before)),
    }
  }

  current(): ReadonlyMap<string, UpstreamClient> {
    return new Map([...this.#used].map(([name, { client }]) => [name, client]))
  }

  async close(): Promise<void> {
    await closeAll([...this.#used.values()])
  }

  #usedFor(account: AccountConfig, config: Config): Used {
    const settings = upstreamSettings(account, config)
    const known = this.#used.get(account.name)
    if (known !== undefined && sameSettings(known.settings, settings)) return known
    return { settings, client: createAccountClient(config, account.name, this.#parts) }
  }
}

function without(some: ReadonlyMap<string, Used>, others: ReadonlyMap<string, Used>): Used[] {
  return [...some].filter(([name, used]) => others.get(name) !== used).map(([, used]) => used)
}

async function closeAll(all: readonly Used[]): Promise<void> {
  await Promise.allSettled(all.map(({ client }) => client.close()))
}
