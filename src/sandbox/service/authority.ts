import type { User } from './accounts.ts'
import { Refusal } from './refusal.ts'
import type { Scope } from './scopes.ts'
import type { Caller } from './tokens.ts'
import type { Unshown } from './unshown.ts'

/** Checks permissions. Each check throws the Refusal that the service would answer. */
export class Authority {
  readonly #unshown: Unshown

  constructor(unshown: Unshown) {
    this.#unshown = unshown
  }

  /** Checks the scope. A token with `broker_submit` may also read. */
  requireScope(caller: Caller, scope: Scope): void {
    if (caller.scopes.includes(scope) || caller.scopes.includes('broker_submit')) return
    throw new Refusal('missing_scope', `This operation needs the scope ${scope}`)
  }

  /** Checks for the admin role, which market-access changes need. Machine credentials have no role. */
  requireAdmin(caller: Caller): void {
    if (caller.user?.role === 'admin') return
    throw new Refusal('missing_role', 'This operation needs the admin role')
  }

  /** Checks for a portal session, which product selection needs. Connected apps and machine credentials get 403. */
  requirePortalSession(caller: Caller): void {
    if (caller.kind !== 'portal') throw new Refusal('no_portal_session', 'This operation needs a broker portal session')
  }

  /** Checks for a portal session, which is needed to manage API keys and webhook endpoints. */
  requirePortalManagement(caller: Caller): void {
    if (caller.kind === 'portal') return
    throw new Refusal('portal_session_only', 'API keys and webhook endpoints are managed in a broker portal session')
  }

  /** Checks for a partner's token, which `mode: rater` needs. Other callers get 403. */
  requirePartner(caller: Caller): void {
    if (caller.kind !== 'partner') throw new Refusal('no_partner', 'mode rater needs an acting-as partner token')
  }

  /**
   * @returns the user of a write. For a machine credential, this is the active portal user in `producer_email`.
   * @throws Refusal (422) if `producer_email` is required and missing, or names no active user.
   */
  attributed(caller: Caller, producerEmail: unknown): User {
    if (caller.user) return caller.user
    if (typeof producerEmail !== 'string' || producerEmail.trim() === '')
      throw new Refusal('no_producer', 'producer_email is required with a machine credential')
    const email = producerEmail.trim().toLowerCase()
    const user = caller.account.users.find((other) => other.active && other.email === email)
    if (!user) throw new Refusal('no_producer', `producer_email ${producerEmail} is no active portal user of this brokerage`)
    return user
  }

  /**
   * Checks `producer_email` of a write whose row in the specification doesn't list this field. Another row requires the
   * field in every write of a machine credential. The variant `unlisted_attribution` therefore decides whether the
   * field is required. If present, the field must name an active user.
   * @param hasBody false if the operation has no body.
   */
  checkNamed(caller: Caller, producerEmail: unknown, hasBody = true): void {
    const where = this.#unshown.word('unlisted_attribution')
    const isRequired = where === 'every' || (where === 'with_body' && hasBody)
    const isNamed = producerEmail !== undefined && producerEmail !== ''
    if (isNamed || isRequired) this.attributed(caller, producerEmail)
  }
}
