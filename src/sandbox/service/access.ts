import { type Account, addCredential, type Credential, type Role, type User } from './accounts.ts'
import type { BuiltParts } from './parts.ts'
import { Refusal } from './refusal.ts'
import { type Scope, scopes } from './scopes.ts'
import type { Caller } from './tokens.ts'

/** Limit of active keys per brokerage, from the spec. */
const MAX_ACTIVE_KEYS = 10

interface NewKey {
  readonly label?: string | undefined
  /** Default: all scopes. */
  readonly scopes?: readonly Scope[] | undefined
  /** Creator. Default: the brokerage's first admin. */
  readonly by?: User | undefined
}

interface NewUser {
  readonly email: string
  readonly role: Role
  readonly fullName?: string | undefined
  /** Default: true. */
  readonly active?: boolean | undefined
}

/** The portal's settings: keys, users and sessions of a brokerage. */
export class Access {
  readonly #parts: BuiltParts

  constructor(parts: BuiltParts) {
    this.#parts = parts
  }

  /** @returns the brokerage's own keys, active or not, without the partner's key. */
  keys(account: Account): Credential[] {
    return [...account.credentials, account.readOnly]
  }

  /**
   * Creates a key. @returns the key with its secret, which is shown only once.
   * @throws Refusal for an eleventh active key, or a writing key if `by` isn't an admin.
   */
  createKey(account: Account, key: NewKey = {}): Credential {
    const { authority, prng } = this.#parts
    const granted = key.scopes ?? scopes
    if (key.by && granted.includes('broker_submit'))
      authority.requireAdmin({ account, scopes, kind: 'portal', credential: null, user: key.by })
    if (this.keys(account).filter(({ active }) => active).length >= MAX_ACTIVE_KEYS)
      throw new Refusal('key_limit', `This brokerage holds ${MAX_ACTIVE_KEYS} active keys; revoke one first`)
    return addCredential(prng.fork(`account ${account.name}`), account, key.label, granted)
  }

  /** Revokes a key. @throws RangeError for an unknown key. */
  revokeKey(account: Account, clientId: string): Credential {
    const credential = [...this.keys(account), account.partner].find((other) => other.clientId === clientId)
    if (!credential) throw new RangeError(`account ${account.name} has no credential ${clientId}`)
    credential.active = false
    return credential
  }

  /** Adds or changes a portal user. */
  putUser(account: Account, { email, role, fullName, active = true }: NewUser): User {
    const address = email.toLowerCase()
    const known = account.users.find((user) => user.email === address)
    if (known) return Object.assign(known, { role, active, ...(fullName !== undefined && { fullName }) })
    const id = this.#parts.prng.fork(`user ${account.name} ${address}`).uuid()
    const user: User = { id, email: address, fullName: fullName ?? address, role, active }
    account.users.push(user)
    return user
  }

  /** @param of default: all accounts. @returns the active user. @throws RangeError for an unknown or inactive user. */
  findUser(email: string, of?: Account): { account: Account; user: User } {
    for (const account of of ? [of] : this.#parts.accounts.values()) {
      const user = account.users.find((other) => other.active && other.email === email.trim().toLowerCase())
      if (user) return { account, user }
    }
    throw new RangeError(`there is no active portal user ${email}`)
  }

  /**
   * Checks access to connected apps and webhook endpoints, which only brokerage admins manage. @param authorization as in `manager`.
   * @throws Refusal unless the caller has an admin's portal session.
   */
  administrator(authorization: string | undefined): Caller | null {
    const caller = this.manager(authorization)
    if (caller) this.#parts.authority.requireAdmin(caller)
    return caller
  }

  /** @returns the token of an unrestricted portal session. */
  openPortalSession(account: Account, user: User): string {
    return this.#parts.tokens.mint({ account, scopes, kind: 'portal', credential: null, user })
  }

  /**
   * The caller of a request for keys, users or webhook endpoints.
   * @param authorization the header; undefined: the sandbox's operator, who may do everything.
   * @throws Refusal unless the caller has a portal session.
   */
  manager(authorization: string | undefined): Caller | null {
    if (authorization === undefined) return null
    const caller = this.#parts.tokens.callerOf(authorization)
    if (!caller) throw new Refusal('missing_token', 'Invalid or expired token')
    this.#parts.authority.requirePortalManagement(caller)
    return caller
  }
}
