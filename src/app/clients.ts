import type { AccountConfig, Config } from '../config/config.ts'
import { sameSettings } from '../config/same-settings.ts'
import { createAccountClient, type UpstreamParts } from '../upstream/account-client.ts'
import type { UpstreamClient } from '../upstream/client.ts'

/** The settings that an account's client and its users depend on: all but the webhook secrets, which only the receiver uses. */
export function upstreamSettings({ webhookSecrets: _, ...ours }: AccountConfig, { upstream }: Config): readonly unknown[] {
  return [ours, upstream]
}

interface Used {
  readonly settings: readonly unknown[]
  readonly client: UpstreamClient
}

/** Clients for new settings, before these are in force. */
export interface ClientChange {
  /** By the account's name. */
  readonly clients: ReadonlyMap<string, UpstreamClient>
  /** Call when the new settings are in force: closes clients that only the old ones used. */
  keep(): Promise<void>
  /** Call when the old settings stay in force: closes clients that only the new ones would use. */
  discard(): Promise<void>
}

/** One client for each account, kept as long as the account's settings stay the same. */
export class UpstreamClients {
  readonly #parts: UpstreamParts
  #used: ReadonlyMap<string, Used> = new Map()

  constructor(parts: UpstreamParts) {
    this.#parts = parts
  }

  /** Creates the missing clients. A client connects when it is first used. */
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

  /** Those in use, by account. */
  current(): ReadonlyMap<string, UpstreamClient> {
    return new Map([...this.#used].map(([name, { client }]) => [name, client]))
  }

  /** Aborts requests in flight. */
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
