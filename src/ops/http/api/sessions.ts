import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Config } from '../../../config/config.ts'
import type { Db } from '../../../store/engine/db.ts'
import { auditedDb } from '../../../store/operators/actions.ts'
import { beginSession, endSession, findSession, noteSessionSeen } from '../../../store/operators/console-sessions.ts'
import type { Holder } from './tokens.ts'

export const SESSION_COOKIE = 'submission_mirror_session'

const ID_BYTES = 32

/**
 * Who signed in with a token, known by the id in a cookie. Sessions live in the database: restarts and other processes know them. A session
 * holds to its token: when that is taken from the settings, or is another under the same name, the session has ended.
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
    if (token === null) return null
    const id = randomBytes(ID_BYTES).toString('base64url')
    const session = { session_hash: hashOf(id), who: name, token_proof: proofOf(id, token.token.reveal()).toString('hex') }
    await beginSession(auditedDb(this.#db, noteOf(name, 'session.begin')), session, this.#config().ops.session)
    return id
  }

  /** @returns who bears the session's id; null when it has ended, or never began. */
  async holderOf(id: string): Promise<Holder | null> {
    const found = await this.#find(id)
    if (!found) return null
    const { session, token } = found
    if (session.isStale) await noteSessionSeen(this.#db, session.session_hash)
    return { name: token.name, role: token.role, session: { endsAt: session.ends_at, idleEndsAt: session.idle_ends_at } }
  }

  /** Whether a session has not ended. Whoever only listens does nothing in it, so this is not noted. */
  async isLive(id: string): Promise<boolean> {
    return (await this.#find(id)) !== null
  }

  async end(id: string, name: string): Promise<void> {
    await endSession(auditedDb(this.#db, noteOf(name, 'session.end')), hashOf(id))
    for (const hear of this.#hearers) hear()
  }

  /** Calls `hear` when somebody has signed out by this process. */
  onEnd(hear: () => void): void {
    this.#hearers.push(hear)
  }

  async #find(id: string) {
    const session = await findSession(this.#db.read, hashOf(id), this.#config().ops.session)
    const token = session && this.#tokenOf(session.who)
    if (!session || !token) return null
    if (!timingSafeEqual(proofOf(id, token.token.reveal()), Buffer.from(session.token_proof, 'hex'))) return null
    return { session, token }
  }

  #tokenOf(name: string): Config['ops']['tokens'][number] | null {
    return this.#config().ops.tokens.find((token) => token.name === name) ?? null
  }
}

function noteOf(who: string, action: string) {
  return { who, action, target: null, detail: {} }
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('hex')
}

/** Only with the id, which the database does not know, can a token be tried against it. */
function proofOf(id: string, token: string): Buffer {
  return createHmac('sha256', id).update(token).digest()
}
