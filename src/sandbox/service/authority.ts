import type { User } from './accounts.ts'
import { Refusal } from './refusal.ts'
import type { Scope } from './scopes.ts'
import type { Caller } from './tokens.ts'
import type { Unshown } from './unshown.ts'

/** Checks permissions. Each check throws the service's Refusal. */
export class Authority {
  readonly #unshown: Unshown

  constructor(unshown: Unshown) {
    this.#unshown = unshown
  }

  /** Reads need the scope `broker_mcp` or `broker_submit`. Writes need `broker_submit`. */
  requireScope(caller: Caller, scope: Scope): void {
    if (caller.scopes.includes(scope) || caller.scopes.includes('broker_submit')) return
    throw new Refusal('missing_scope', `This operation needs the scope ${scope}`)
  }

  /** Market-access changes need the admin role. Machine credentials have no role. */
  requireAdmin(caller: Caller): void {
    if (caller.user?.role === 'admin') return
    throw new Refusal('missing_role', 'This operation needs the admin role')
  }

  /** Product selection needs a portal session: 403 for connected apps and machine credentials. */
  requirePortalSession(caller: Caller): void {
    if (caller.kind !== 'portal') throw new Refusal('no_portal_session', 'This operation needs a broker portal session')
  }

  /** Machine credentials can't manage machine credentials or webhook endpoints, which need a portal session. */
  requirePortalManagement(caller: Caller): void {
    if (caller.kind === 'portal') return
    throw new Refusal('portal_session_only', 'API keys and webhook endpoints are managed in a broker portal session')
  }

  /** `mode: rater` needs the token of an acting-as partner. Other callers get 403. */
  requirePartner(caller: Caller): void {
    if (caller.kind !== 'partner') throw new Refusal('no_partner', 'mode rater needs an acting-as partner token')
  }

  /**
   * The user of a write: the caller's own, or for a machine credential the active portal user in `producer_email`. A missing or unknown
   * `producer_email` gets 422.
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
   * Checks `producer_email` of writes whose spec row omits it. Elsewhere, the spec requires it in every write of a machine credential, so a
   * variant decides. If present, it must name an active user.
   * @param hasBody false: the operation has no body.
   */
  checkNamed(caller: Caller, producerEmail: unknown, hasBody = true): void {
    const where = this.#unshown.word('unlisted_attribution')
    const isRequired = where === 'every' || (where === 'with_body' && hasBody)
    const isNamed = producerEmail !== undefined && producerEmail !== ''
    if (isNamed || isRequired) this.attributed(caller, producerEmail)
  }
}
