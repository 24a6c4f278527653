import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Config, OidcConfig } from '../../../config/config.ts'
import { includesRole, type Role } from '../../../config/schema/roles.ts'
import { parsedJson, storableText } from '../../../model/json.ts'
import type { Db } from '../../../store/engine/db.ts'
import { type ActionDetail, auditedDb } from '../../../store/operators/actions.ts'
import { beginSession, endSession, findSession, noteSessionSeen } from '../../../store/operators/console-sessions.ts'
import type { Holder } from './tokens.ts'

export const SESSION_COOKIE = 'submission_mirror_session'

const ID_BYTES = 32

/** Who a provider of OpenID Connect says that somebody is. */
export interface Identity {
  /** Begins with `oidc:`, which no token's name does. */
  readonly who: string
  readonly subject: string
  /** Values of the claim that the settings give roles for. */
  readonly values: readonly string[]
}

/**
 * Who signed in, known by the id in a cookie. Sessions live in the database: restarts and other processes know them. A session holds to what
 * it began with: when its token is taken from the settings, or is another under the same name, or when no value of its claim has a role any
 * more, the session has ended.
 */
export class Sessions {
  readonly #db: Db
  readonly #config: () => Config
  readonly #hearers: (() => void)[] = []

  /** @param db that of the process: sessions are written. */
  constructor(db: Db, config: () => Config) {
    this.#db = db
    this.#config = config
  }

  /** Signs in whoever bears a token. @returns the session's id, for the cookie; null when the token is none of the settings. */
  async begin(name: string): Promise<string | null> {
    const token = this.#tokenOf(name)
    return token === null ? null : await this.#begin(name, token.token.reveal(), null, {})
  }

  /** Signs in whom a provider vouches for. @returns the session's id. */
  async beginOidc(oidc: OidcConfig, { who, subject, values }: Identity): Promise<string> {
    return await this.#begin(who, providerText(oidc), JSON.stringify(values), { issuer: oidc.issuer, subject: storableText(subject) })
  }

  async #begin(who: string, proven: string, oidc: string | null, detail: ActionDetail): Promise<string> {
    const id = randomBytes(ID_BYTES).toString('base64url')
    const session = { session_hash: hashOf(id), who, token_proof: proofOf(id, proven).toString('hex'), oidc }
    const db = auditedDb(this.#db, { who, action: 'session.begin', target: null, detail })
    await beginSession(db, session, this.#limits())
    return id
  }

  /** @returns who bears the session's id; null when it has ended, or never began. */
  async holderOf(id: string): Promise<Holder | null> {
    const found = await this.#find(id)
    if (!found) return null
    const { session, role } = found
    if (session.isStale) await noteSessionSeen(this.#db, session.session_hash)
    return { name: session.who, role, session: { endsAt: session.ends_at, idleEndsAt: session.idle_ends_at } }
  }

  /** Whether a session has not ended. Whoever only listens does nothing in it, so this is not noted. */
  async isLive(id: string): Promise<boolean> {
    return (await this.#find(id)) !== null
  }

  async end(id: string, who: string): Promise<void> {
    await endSession(auditedDb(this.#db, { who, action: 'session.end', target: null, detail: {} }), hashOf(id))
    for (const hear of this.#hearers) hear()
  }

  /** Calls `hear` when somebody has signed out by this process. */
  onEnd(hear: () => void): void {
    this.#hearers.push(hear)
  }

  #limits() {
    const { sessionIdleMs: idleMs, sessionMaxMs: maxMs } = this.#config().ops
    return { idleMs, maxMs }
  }

  async #find(id: string) {
    const session = await findSession(this.#db.read, hashOf(id), this.#limits())
    const known = session && (session.oidc === null ? this.#byToken(session.who) : this.#byProvider(session.oidc))
    if (!session || !known) return null
    if (!timingSafeEqual(proofOf(id, known.proven), Buffer.from(session.token_proof, 'hex'))) return null
    return { session, role: known.role }
  }

  #byToken(name: string): { readonly role: Role; readonly proven: string } | null {
    const token = this.#tokenOf(name)
    return token && { role: token.role, proven: token.token.reveal() }
  }

  #byProvider(stored: string): { readonly role: Role; readonly proven: string } | null {
    const { oidc } = this.#config().ops
    const values = parsedJson(stored)
    const role = oidc && Array.isArray(values) ? roleOf(oidc, values) : null
    return oidc && role ? { role, proven: providerText(oidc) } : null
  }

  #tokenOf(name: string): Config['ops']['tokens'][number] | null {
    return this.#config().ops.tokens.find((token) => token.name === name) ?? null
  }
}

/** The highest role that values of the claim give; null for none. */
export function roleOf({ roles }: Pick<OidcConfig, 'roles'>, values: readonly unknown[]): Role | null {
  let highest: Role | null = null
  for (const value of values) {
    const role = typeof value === 'string' && Object.hasOwn(roles, value) ? roles[value] : undefined
    if (role !== undefined && (highest === null || includesRole(role, highest))) highest = role
  }
  return highest
}

/** What makes it the same provider to a session. A new secret is not another. */
function providerText({ issuer, clientId, claim }: OidcConfig): string {
  return JSON.stringify([issuer, clientId, claim])
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('hex')
}

/** Only with the id, which the database does not know, can a token be tried against it. */
function proofOf(id: string, proven: string): Buffer {
  return createHmac('sha256', id).update(proven).digest()
}
