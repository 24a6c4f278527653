import type { Prng } from '../world/prng.ts'
import { type Account, addCredential, type Credential, type Role, type User } from './accounts.ts'
import type { Authority } from './authority.ts'
import { Refusal } from './refusal.ts'
import type { Scope } from './scopes.ts'
import { scopes } from './scopes.ts'
import type { Caller, Tokens } from './tokens.ts'

/** "Each brokerage holds at most 10 active keys." */
const MAX_ACTIVE_KEYS = 10

export interface AccessParts {
  readonly accounts: ReadonlyMap<string, Account>
  readonly prng: Prng
  readonly tokens: Tokens
  readonly authority: Authority
}

export interface NewKey {
  readonly label?: string | undefined
  /** Default: all. */
  readonly scopes?: readonly Scope[] | undefined
  /** Who makes it. Default: the brokerage's first admin. */
  readonly by?: User | undefined
}

export interface NewUser {
  readonly email: string
  readonly role: Role
  readonly fullName?: string | undefined
  /** Default: true. */
  readonly active?: boolean | undefined
}

/** What the portal's settings do in the real service: keys, users and sessions of a brokerage. */
export class Access {
  readonly #parts: AccessParts

  constructor(parts: AccessParts) {
    this.#parts = parts
  }

  /** @returns the brokerage's own keys, active or not. A partner's credential is none of them. */
  keys(account: Account): Credential[] {
    return [...account.credentials, account.readOnly]
  }

  /**
   * Makes a key. @returns it with its secret, which is shown this once.
   * @throws Refusal for an eleventh active key, or one that writes when `by` is no admin.
   */
  createKey(account: Account, key: NewKey): Credential {
    const { authority, prng } = this.#parts
    const granted = key.scopes ?? scopes
    if (key.by && granted.includes('broker_submit'))
      authority.requireAdmin({ account, scopes, kind: 'portal', credential: null, user: key.by })
    if (this.keys(account).filter(({ active }) => active).length >= MAX_ACTIVE_KEYS)
      throw new Refusal('key_limit', `This brokerage holds ${MAX_ACTIVE_KEYS} active keys; revoke one first`)
    return addCredential(prng.fork(`account ${account.name}`), account, key.label, granted)
  }

  /** Refuses new tokens for a key at once, and frees its place. @throws RangeError for an unknown key. */
  revokeKey(account: Account, clientId: string): Credential {
    const credential = [...this.keys(account), account.partner].find((other) => other.clientId === clientId)
    if (!credential) throw new RangeError(`account ${account.name} has no credential ${clientId}`)
    credential.active = false
    return credential
  }

  /** Adds a portal user, or changes the one with that e-mail. */
  putUser(account: Account, { email, role, fullName, active = true }: NewUser): User {
    const address = email.toLowerCase()
    const known = account.users.find((user) => user.email === address)
    if (known) return Object.assign(known, { role, active, ...(fullName !== undefined && { fullName }) })
    const id = this.#parts.prng.fork(`user ${account.name} ${address}`).uuid()
    const user: User = { id, email: address, fullName: fullName ?? address, role, active }
    account.users.push(user)
    return user
  }

  /** @param of the account to look in; default: all. @returns the active user with that e-mail. @throws RangeError when there is none. */
  findUser(email: string, of?: Account): { account: Account; user: User } {
    for (const account of of ? [of] : this.#parts.accounts.values()) {
      const user = account.users.find((other) => other.active && other.email === email.trim().toLowerCase())
      if (user) return { account, user }
    }
    throw new RangeError(`there is no active portal user ${email}`)
  }

  /**
   * "Brokerage admins manage connected apps", and webhook endpoints. @param authorization as of `manager`.
   * @throws Refusal for any token but that of an admin's portal session.
   */
  administrator(authorization: string | undefined): Caller | null {
    const caller = this.manager(authorization)
    if (caller) this.#parts.authority.requireAdmin(caller)
    return caller
  }

  /** @returns the token of an unrestricted broker portal session, as signing in to the portal gives. */
  openPortalSession(account: Account, user: User): string {
    return this.#parts.tokens.mint({ account, scopes, kind: 'portal', credential: null, user })
  }

  /**
   * Whom a request for keys, users or webhook endpoints comes from.
   * @param authorization the header; undefined: the operator of the sandbox, who may do all.
   * @throws Refusal for any token but that of a portal session.
   */
  manager(authorization: string | undefined): Caller | null {
    if (authorization === undefined) return null
    const caller = this.#parts.tokens.callerOf(authorization)
    if (!caller) throw new Refusal('missing_token', 'Invalid or expired token')
    this.#parts.authority.requirePortalManagement(caller)
    return caller
  }
}
