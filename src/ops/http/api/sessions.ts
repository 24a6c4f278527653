import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { messageOf } from '../../../base/errors.ts'
import type { Log } from '../../../base/log.ts'
import type { Config, OidcConfig } from '../../../config/config.ts'
import { includesRole, type Role } from '../../../config/schema/roles.ts'
import { parsedJson, storableText } from '../../../model/json.ts'
import type { Db } from '../../../store/engine/db.ts'
import { type ActionDetail, auditedDb } from '../../../store/operators/actions.ts'
import {
  beginSession,
  type ConsoleSession,
  endSession,
  endSessions,
  findSession,
  noteSessionSeen,
} from '../../../store/operators/console-sessions.ts'
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
    const token = tokenOf(this.#config().ops, name)
    return token === null ? null : await this.#begin(name, token.token.reveal(), null, {})
  }

  /** Signs in whom a provider vouches for. @returns the session's id. */
  async beginOidc(oidc: OidcConfig, { who, subject, values }: Identity): Promise<string> {
    return await this.#begin(who, providerText(oidc), JSON.stringify(values), { issuer: oidc.issuer, subject: storableText(subject) })
  }

  async #begin(who: string, proven: string, oidc: string | null, detail: ActionDetail): Promise<string> {
    const id = randomBytes(ID_BYTES).toString('base64url')
    const session_hash = hashOf(id)
    const token_proof = proofOf(id, proven).toString('hex')
    const session = { session_hash, who, token_proof, token_tag: tagOf(session_hash, proven), oidc }
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
    const known = session && heldBy(session, this.#config())
    if (!session || !known) return null
    if (!timingSafeEqual(proofOf(id, known.proven), Buffer.from(session.token_proof, 'hex'))) return null
    return { session, role: known.role }
  }
}

/**
 * Ends the sessions whose token or provider is no longer in the settings, or is another under the same name. Called for the settings of a start
 * and of each reload: without it, a session would live again when its token came back.
 */
export async function endLapsedSessions(db: Db, config: Config, log: Pick<Log, 'warn'>): Promise<void> {
  const passes = (session: ConsoleSession) => {
    const held = heldBy(session, config)
    return held !== null && tagOf(session.session_hash, held.proven) === session.token_tag
  }
  await endSessions(db, passes).catch((error: unknown) => {
    log.warn(
      { err: error },
      `sessions of removed tokens could not be deleted: ${messageOf(error)}. They work again if the token comes back`,
    )
  })
}

/** What a session must have begun with, and the role that it has; null when the settings no longer know it. */
function heldBy({ who, oidc: stored }: ConsoleSession, { ops }: Config): { readonly role: Role; readonly proven: string } | null {
  if (stored === null) {
    const token = tokenOf(ops, who)
    return token && { role: token.role, proven: token.token.reveal() }
  }
  const values = parsedJson(stored)
  const role = ops.oidc && Array.isArray(values) ? roleOf(ops.oidc, values) : null
  return ops.oidc && role ? { role, proven: providerText(ops.oidc) } : null
}

function tokenOf({ tokens }: Config['ops'], name: string): Config['ops']['tokens'][number] | null {
  return tokens.find((token) => token.name === name) ?? null
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

const TAG_DIGITS = 4

function tagOf(sessionHash: string, proven: string): string {
  return createHmac('sha256', sessionHash).update(proven).digest('hex').slice(0, TAG_DIGITS)
}

/** Only with the id, which the database does not know, can a token be tried against it. */
function proofOf(id: string, proven: string): Buffer {
  return createHmac('sha256', id).update(proven).digest()
}
