import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyReply } from 'fastify'
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

/** A person who signed in by OpenID Connect. */
export interface Identity {
  /** Name of the person. Begins with `oidc:`, so it never equals the name of a token. */
  readonly who: string
  readonly subject: string
  /** Values of the person's claim that have a role in the settings. */
  readonly values: readonly string[]
}

/**
 * Sessions of people who signed in. A cookie contains the session's id, and the database stores the session.
 * A session ends at sign-out and at its time limits.
 * A session also ends when the settings no longer contain its token or provider, or contain a different one.
 * A session by OpenID Connect also ends when no value of its claim has a role.
 */
export class Sessions {
  readonly #db: Db
  readonly #config: () => Config

  /** @param db must be writable. */
  constructor(db: Db, config: () => Config) {
    this.#db = db
    this.#config = config
  }

  /**
   * Begins a session with a token.
   * @param name name of the token.
   * @returns the session id for the cookie; null if the settings don't have the token.
   */
  async begin(name: string): Promise<string | null> {
    const token = tokenOf(this.#config().ops, name)
    return token === null ? null : await this.#begin(name, token.token.reveal(), null, {})
  }

  /** Begins a session for a person who signed in by OpenID Connect. @returns the session id for the cookie. */
  async beginOidc(oidc: OidcConfig, { who, subject, values }: Identity): Promise<string> {
    return await this.#begin(who, providerText(oidc), JSON.stringify(values), { issuer: oidc.issuer, subject: storableText(subject) })
  }

  async #begin(who: string, credential: string, oidc: string | null, detail: ActionDetail): Promise<string> {
    const id = randomBytes(ID_BYTES).toString('base64url')
    const session_hash = hashOf(id)
    const token_proof = proofOf(id, credential).toString('hex')
    const session = { session_hash, who, token_proof, token_tag: tagOf(session_hash, credential), oidc }
    const db = auditedDb(this.#db, { who, action: 'session.begin', target: null, detail })
    await beginSession(db, session, this.#limits())
    return id
  }

  /** Extends a session and returns its owner. @returns null if the session has ended or never existed. */
  async holderOf(id: string): Promise<Holder | null> {
    const found = await this.#find(id)
    if (!found) return null
    const { session, role } = found
    if (session.isStale) await noteSessionSeen(this.#db, session.session_hash)
    return { name: session.who, role, session: { endsAt: session.ends_at, idleEndsAt: session.idle_ends_at } }
  }

  /** @returns true if a session is active. Unlike `holderOf`, does not extend the session. */
  async isLive(id: string): Promise<boolean> {
    return (await this.#find(id)) !== null
  }

  async end(id: string, who: string): Promise<void> {
    await endSession(auditedDb(this.#db, { who, action: 'session.end', target: null, detail: {} }), hashOf(id))
  }

  #limits() {
    const { sessionIdleMs: idleMs, sessionMaxMs: maxMs } = this.#config().ops
    return { idleMs, maxMs }
  }

  async #find(id: string) {
    const session = await findSession(this.#db.read, hashOf(id), this.#limits())
    const known = session && heldBy(session, this.#config())
    if (!session || !known) return null
    if (!timingSafeEqual(proofOf(id, known.credential), Buffer.from(session.token_proof, 'hex'))) return null
    return { session, role: known.role }
  }
}

/**
 * Deletes sessions whose token or provider was removed or replaced.
 * Otherwise, such a session would work again if the old token came back. Runs at each start and reload.
 */
export async function endLapsedSessions(db: Db, config: Config, log: Pick<Log, 'warn'>): Promise<void> {
  const passes = (session: ConsoleSession) => {
    const held = heldBy(session, config)
    return held !== null && tagOf(session.session_hash, held.credential) === session.token_tag
  }
  await endSessions(db, passes).catch((error: unknown) => {
    log.warn(
      { err: error },
      `sessions of removed tokens could not be deleted: ${messageOf(error)}. They work again if the same tokens are configured again`,
    )
  })
}

/** @returns the role and the credential of a session in the current settings; null if the settings have none. */
function heldBy({ who, oidc: stored }: ConsoleSession, { ops }: Config): { readonly role: Role; readonly credential: string } | null {
  if (stored === null) {
    const token = tokenOf(ops, who)
    return token && { role: token.role, credential: token.token.reveal() }
  }
  const values = parsedJson(stored)
  const role = ops.oidc && Array.isArray(values) ? roleOf(ops.oidc, values) : null
  return ops.oidc && role ? { role, credential: providerText(ops.oidc) } : null
}

function tokenOf({ tokens }: Config['ops'], name: string): Config['ops']['tokens'][number] | null {
  return tokens.find((token) => token.name === name) ?? null
}

/** @returns the highest role of the claim values; null if no value has a role. */
export function roleOf({ roles }: Pick<OidcConfig, 'roles'>, values: readonly unknown[]): Role | null {
  let highest: Role | null = null
  for (const value of values) {
    const role = typeof value === 'string' && Object.hasOwn(roles, value) ? roles[value] : undefined
    if (role !== undefined && (highest === null || includesRole(role, highest))) highest = role
  }
  return highest
}

/** @returns a text that identifies a provider. A new client secret does not change the text. */
function providerText({ issuer, clientId, claim }: OidcConfig): string {
  return JSON.stringify([issuer, clientId, claim])
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('hex')
}

const TAG_DIGITS = 4

function tagOf(sessionHash: string, credential: string): string {
  return createHmac('sha256', sessionHash).update(credential).digest('hex').slice(0, TAG_DIGITS)
}

/**
 * @returns a keyed hash of a session's credential. The key is the session id, which the database doesn't contain.
 * Testing a guessed token therefore needs the session id.
 */
function proofOf(id: string, credential: string): Buffer {
  return createHmac('sha256', id).update(credential).digest()
}

/**
 * Sets the session cookie.
 * @param url this server's URL in the browser; see `ownUrlOf`.
 * @param maxAgeS lifetime in seconds; 0 removes the cookie.
 */
export function setSessionCookie(reply: FastifyReply, url: string, id: string, maxAgeS: number): void {
  reply.setCookie(SESSION_COOKIE, id, { httpOnly: true, sameSite: 'strict', path: '/', secure: isByHttps(url), maxAge: maxAgeS })
}

/** @returns true if a cookie can be `Secure`. Browsers drop such cookies over plain HTTP. */
export function isByHttps(url: string): boolean {
  return url.startsWith('https:')
}
