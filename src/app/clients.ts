import type { AccountConfig, Config } from '../config/config.ts'
import { sameSettings } from '../config/same.ts'
import { createAccountClient, type UpstreamParts } from '../upstream/account-client.ts'
import type { UpstreamClient } from '../upstream/client.ts'

/** What of an account's settings its client, and whoever reads with it, goes by: its webhook secrets are the receiver's alone. */
export function readingSettings({ webhookSecrets: _, ...ours }: AccountConfig, { upstream }: Config): readonly unknown[] {
  return [ours, upstream]
}

interface Used {
  readonly settings: readonly unknown[]
  readonly client: UpstreamClient
}

/** The clients for some settings, before it is settled that they come into force. */
export interface ClientChange {
  /** By the account's name. */
  readonly clients: ReadonlyMap<string, UpstreamClient>
  /** The settings are in force, and nobody uses the clients any more that were used only before. */
  keep(): Promise<void>
  /** The settings before stay in force. */
  discard(): Promise<void>
}

/** One client for each account, which stays the same as long as the account's settings do. */
export class Clients {
  readonly #parts: UpstreamParts
  #used: ReadonlyMap<string, Used> = new Map()

  constructor(parts: UpstreamParts) {
    this.#parts = parts
  }

  /** Makes the clients that the settings need and that there are not. A client connects only when it is first asked for something. */
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

  /** Breaks off what is under way. */
  async close(): Promise<void> {
    await closeAll([...this.#used.values()])
  }

  #usedFor(account: AccountConfig, config: Config): Used {
    const settings = readingSettings(account, config)
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
