import { type Account, addCredential, type Credential, type Role, type User } from './accounts.ts'
import type { BuiltParts } from './parts.ts'
import { Refusal } from './refusal.ts'
import { type Scope, scopes } from './scopes.ts'
import type { Caller } from './tokens.ts'

/** Maximum active keys of a brokerage, from the specification. */
const MAX_ACTIVE_KEYS = 10

interface NewKey {
  readonly label?: string | undefined
  /** Default: all scopes. */
  readonly scopes?: readonly Scope[] | undefined
  /** User who creates the key. Without a user, the role isn't checked. */
  readonly by?: User | undefined
}

interface NewUser {
  readonly email: string
  readonly role: Role
  readonly fullName?: string | undefined
  /** Default: true. */
  readonly active?: boolean | undefined
}

/** Manages keys, users, and sessions of a brokerage, as its portal does. */
export class Access {
  readonly #parts: BuiltParts

  constructor(parts: BuiltParts) {
    this.#parts = parts
  }

  /** @returns the brokerage's own keys, active or not. The partner's key is not included. */
  keys(account: Account): Credential[] {
    return [...account.credentials, account.readOnly]
  }

  /**
   * Creates a key.
   * @returns the key with its secret.
   * @throws Refusal if ten keys are active, or if the key may write and `by` isn't an admin.
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

  /**
   * Revokes a key.
   * @throws RangeError if the key is unknown.
   */
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

  /**
   * Finds an active user by e-mail address in the account `of`, or in all accounts if `of` is undefined.
   * @returns the user and the user's account.
   * @throws RangeError if the user is unknown or inactive.
   */
  findUser(email: string, of?: Account): { account: Account; user: User } {
    for (const account of of ? [of] : this.#parts.accounts.values()) {
      const user = account.users.find((other) => other.active && other.email === email.trim().toLowerCase())
      if (user) return { account, user }
    }
    throw new RangeError(`there is no active portal user ${email}`)
  }

  /**
   * Checks that the caller may manage connected apps and webhook endpoints.
   * @param authorization the header `Authorization`; undefined for the sandbox's operator, who may do everything.
   * @returns the caller; null for the sandbox's operator.
   * @throws Refusal if the caller has no portal session of an admin.
   */
  administrator(authorization: string | undefined): Caller | null {
    const caller = this.manager(authorization)
    if (caller) this.#parts.authority.requireAdmin(caller)
    return caller
  }

  /**
   * Opens a portal session with all scopes.
   * @returns the token of the session.
   */
  openPortalSession(account: Account, user: User): string {
    return this.#parts.tokens.mint({ account, scopes, kind: 'portal', credential: null, user })
  }

  /**
   * Finds the caller of a request for keys, users, or webhook endpoints.
   * @param authorization the header `Authorization`; undefined for the sandbox's operator, who may do everything.
   * @returns the caller; null for the sandbox's operator.
   * @throws Refusal if the caller has no portal session.
   */
  manager(authorization: string | undefined): Caller | null {
    if (authorization === undefined) return null
    const caller = this.#parts.tokens.callerOf(authorization)
    if (!caller) throw new Refusal('missing_token', 'Invalid or expired token')
    this.#parts.authority.requirePortalManagement(caller)
    return caller
  }
}
