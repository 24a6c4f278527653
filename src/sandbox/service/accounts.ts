import { brokerages } from '../world/names.ts'
import type { Prng } from '../world/prng.ts'
import type { AccountOptions } from './options.ts'
import { type Scope, scopes } from './scopes.ts'

/** A machine credential. */
export interface Credential {
  readonly clientId: string
  readonly clientSecret: string
  readonly label: string
  /** The ceiling of the tokens minted from it. */
  readonly scopes: readonly Scope[]
  /** false: no new tokens. Existing ones stay valid until they expire. */
  active: boolean
}

export const roles = ['admin', 'broker'] as const
export type Role = (typeof roles)[number]

/** A portal user of a brokerage. */
export interface User {
  readonly id: string
  /** In small letters. */
  readonly email: string
  fullName: string
  role: Role
  active: boolean
}

/** One brokerage with its credentials, its users and its webhook endpoint, all derived from the seed. */
export interface Account {
  readonly name: string
  brokerage: { readonly id: string; readonly name: string }
  /** Its keys that read and write, the first one first, and those made later. */
  readonly credentials: Credential[]
  /** A key of the brokerage that only reads. */
  readonly readOnly: Credential
  /** The credential of a partner that acts as the brokerage. It is none of the brokerage's own keys. */
  readonly partner: Credential
  /** What connected apps may be granted at most: the brokerage's programmatic-access controls. */
  programmaticScopes: readonly Scope[]
  /** An admin first, then the producer, then who was added. */
  readonly users: User[]
  /** `whsec_` and base64 of 32 bytes. */
  webhookSecret: string
  /** null: no webhook endpoint, so nothing is delivered. */
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

/** Adds a credential, as before a rotation. */
export function addCredential(prng: Prng, account: Account, label?: string, granted: readonly Scope[] = scopes): Credential {
  const number = account.credentials.length
  const credential = newCredential(prng, `credential ${number}`, label ?? `${account.name} key ${number + 1}`, granted)
  account.credentials.push(credential)
  return credential
}

/** The user whom the writes of a machine credential can name as `producer_email`. */
export function producerOf(account: Account): string {
  return account.users[1]?.email ?? ''
}

/** @returns the domain of a brokerage's addresses; nobody can receive mail there. */
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
