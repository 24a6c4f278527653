import { brokerages } from '../world/names.ts'
import type { Prng } from '../world/prng.ts'
import type { AccountOptions } from './options.ts'
import { type Scope, scopes } from './scopes.ts'

export interface Credential {
  readonly clientId: string
  readonly clientSecret: string
  readonly label: string
  /** Scopes that tokens of this credential may have. */
  readonly scopes: readonly Scope[]
  /** If false, no new tokens are issued. Issued tokens stay valid until they expire. */
  active: boolean
}

export const roles = ['admin', 'broker'] as const
export type Role = (typeof roles)[number]

export interface User {
  readonly id: string
  /** Address in lower case. */
  readonly email: string
  fullName: string
  role: Role
  active: boolean
}

/**
 * A brokerage with its credentials, users, and webhook endpoint. Initial values derive from the seed and the options.
 */
export interface Account {
  readonly name: string
  brokerage: { readonly id: string; readonly name: string }
  /** The brokerage's keys except `readOnly`, oldest first. */
  readonly credentials: Credential[]
  readonly readOnly: Credential
  /** The key of a partner that acts as the brokerage. */
  readonly partner: Credential
  /** Scopes that connected apps may have. The brokerage sets these scopes in its programmatic-access controls. */
  programmaticScopes: readonly Scope[]
  /** The admin, then the producer, then users added later. */
  readonly users: User[]
  /** `whsec_` followed by 32 bytes in base64. */
  webhookSecret: string
  /** URL of the webhook endpoint; null if there is none. */
  target: string | null
  /** Event types to deliver, and `message` for messages. An empty list delivers everything. */
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

/** Adds a credential, such as the second one during a rotation. */
export function addCredential(prng: Prng, account: Account, label?: string, granted: readonly Scope[] = scopes): Credential {
  const number = account.credentials.length
  const credential = newCredential(prng, `credential ${number}`, label ?? `${account.name} key ${number + 1}`, granted)
  account.credentials.push(credential)
  return credential
}

/** @returns a user's e-mail address that machine credentials may send as `producer_email`. */
export function producerOf(account: Account): string {
  return account.users[1]?.email ?? ''
}

/** @returns the domain for a brokerage's e-mail addresses. A domain ending in `.invalid` receives no mail. */
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
