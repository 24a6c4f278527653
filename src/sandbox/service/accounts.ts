import { brokerages } from '../world/names.ts'
import type { Prng } from '../world/prng.ts'
import type { AccountOptions } from './options.ts'

/** A machine credential of a brokerage. */
export interface Credential {
  readonly clientId: string
  readonly clientSecret: string
  /** false: no new tokens. Existing ones stay valid until they expire. */
  active: boolean
}

/** One brokerage with its credentials and its webhook endpoint, all derived from the seed. */
export interface Account {
  readonly name: string
  brokerage: { readonly id: string; readonly name: string }
  readonly credentials: Credential[]
  /** `whsec_` and base64 of 32 bytes. */
  webhookSecret: string
  /** null: no webhook endpoint, so nothing is delivered. */
  target: string | null
  /** Event types and `message`; empty: everything. */
  readonly eventTypes: readonly string[]
}

export function newAccount(prng: Prng, options: AccountOptions, index: number): Account {
  const account: Account = {
    name: options.name,
    brokerage: options.brokerage ?? { id: prng.uuid(), name: brokerages[index % brokerages.length] ?? 'Brokerage' },
    credentials: [],
    webhookSecret: `whsec_${prng.bytes('webhook secret').toString('base64')}`,
    target: options.target ?? null,
    eventTypes: options.eventTypes ?? [],
  }
  addCredential(prng, account)
  return account
}

/** Adds a credential, as before a rotation. */
export function addCredential(prng: Prng, account: Account): Credential {
  const label = `credential ${account.credentials.length}`
  const credential = {
    clientId: `bac_${prng.bytes(`${label} id`).toString('hex').slice(0, 24)}`,
    clientSecret: `bas_${prng.bytes(`${label} secret`).toString('base64url')}`,
    active: true,
  }
  account.credentials.push(credential)
  return credential
}
