import { brokerages } from '../world/names.ts'
import type { Prng } from '../world/prng.ts'
import type { AccountOptions } from './options.ts'
import { type Scope, scopes } from './scopes.ts'

export interface Credential {
  readonly clientId: string
  readonly clientSecret: string
  readonly label: string
  /** Maximum scopes of the credential's tokens. */
  readonly scopes: readonly Scope[]
  /** false: no new tokens. Existing tokens stay valid until they expire. */
  active: boolean
}

export const roles = ['admin', 'broker'] as const
export type Role = (typeof roles)[number]

export interface User {
  readonly id: string
  /** Lower case. */
  readonly email: string
  fullName: string
  role: Role
  active: boolean
}

/** A brokerage with its credentials, users and webhook endpoint, derived from the seed. */
export interface Account {
  readonly name: string
  brokerage: { readonly id: string; readonly name: string }
  /** Read-write keys, oldest first. */
  readonly credentials: Credential[]
  readonly readOnly: Credential
  /** The key of a partner that acts as the brokerage. */
  readonly partner: Credential
  /** Maximum scopes of connected apps: the brokerage's programmatic-access controls. */
  programmaticScopes: readonly Scope[]
  /** The admin, the producer, then added users. */
  readonly users: User[]
  /** `whsec_` and base64 of 32 bytes. */
  webhookSecret: string
  /** null: no webhook endpoint. */
  target: string | null
  /** Event types and `message`; empty: everything. */
  eventTypes: readonly string[]
}

export function newAccount(prng: Prng, options: AccountOptions, index: number): Account {
  const brokerage = options.brokerage ?? { id: prng.uuid(), name: brokerages[index % brokerages.length] ?? 'Brokerage' }
  const { name } = options
  const domain = domainOf(brokerage.name)
  const people = prng.fork('users')
  const user = (email: string, fullName: string, role: Role) => ({ id: people.uuid(), email, fullName, role, active: true })
  return {
    name,
    brokerage,
    credentials: [newCredential(prng, 'credential 0', `${name} mirror`, scopes)],
    readOnly: newCredential(prng, 'read only', `${name} read only`, ['broker_mcp']),
    partner: newCredential(prng, 'partner', `${name} partner`, scopes),
    programmaticScopes: scopes,
    users: [user(`admin@${domain}`, 'Avery Admin', 'admin'), user(`producer@${domain}`, 'Parker Producer', 'broker')],
    webhookSecret: `whsec_${prng.bytes('webhook secret').toString('base64')}`,
    target: options.target ?? null,
    eventTypes: options.eventTypes ?? [],
  }
}

/** Adds a credential, as for a rotation. */
export function addCredential(prng: Prng, account: Account, label?: string, granted: readonly Scope[] = scopes): Credential {
  const number = account.credentials.length
  const credential = newCredential(prng, `credential ${number}`, label ?? `${account.name} key ${number + 1}`, granted)
  account.credentials.push(credential)
  return credential
}

/** A valid `producer_email` for writes of a machine credential. */
export function producerOf(account: Account): string {
  return account.users[1]?.email ?? ''
}

/** @returns the domain of a brokerage's addresses, which receive no mail. */
export function domainOf(brokerageName: string): string {
  return `${brokerageName.toLowerCase().replace(/[^a-z]+/g, '-')}.invalid`
}

function newCredential(prng: Prng, source: string, label: string, granted: readonly Scope[]): Credential {
  return {
    clientId: `bac_${prng.bytes(`${source} id`).toString('hex').slice(0, 24)}`,
    clientSecret: `bas_${prng.bytes(`${source} secret`).toString('base64url')}`,
    label,
    scopes: granted,
    active: true,
  }
}
