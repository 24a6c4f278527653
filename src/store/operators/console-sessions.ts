import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { dbTime, timePlus } from '../engine/sql.ts'

/** Limits of a console session in ms: `idleMs` between two requests, `maxMs` for the whole session. */
export interface SessionLimits {
  readonly idleMs: number
  readonly maxMs: number
}

/**
 * A stored console session. The database contains the session's id and token only as hashes.
 * Nobody can sign in with a copy of the stored session.
 */
export interface ConsoleSession {
  /** SHA-256 (hex) of the session's id. */
  readonly session_hash: string
  /** Name of the token, or of the person who signed in by OpenID Connect. */
  readonly who: string
  /** HMAC (hex) of the token, or of the OpenID provider's settings. The key is the session's id. */
  readonly token_proof: string
  /**
   * Beginning of a hash of the token, or of the OpenID provider's settings.
   * If the token or the settings change, so does the tag. The tag is too short to find the token.
   */
  readonly token_tag: string
  /** JSON list of the OpenID Connect claim values that gave the role; null if the user signed in with a token. */
  readonly oidc: string | null
}

export interface LiveSession extends ConsoleSession {
  readonly ends_at: TimeText
  readonly idle_ends_at: TimeText
  /** true if the current request must update `seen_at` (see `NOTED_EVERY`). */
  readonly isStale: boolean
}

const COLUMNS = ['session_hash', 'who', 'token_proof', 'token_tag', 'oidc'] as const
/** A request updates `seen_at` if this fraction of the idle limit has passed since the last update. */
const NOTED_EVERY = 0.1

export async function beginSession(db: Db, session: ConsoleSession, limits: SessionLimits): Promise<void> {
  await db.write('session-begin', async (tx) => {
    await tx.sql.deleteFrom('sync_console_sessions').where(hasEnded(tx, limits)).execute()
    const now = dbTime(tx)
    await tx.sql
      .insertInto('sync_console_sessions')
      .values({ ...session, began_at: now, seen_at: now })
      .execute()
  })
}

/** @returns the session; null if it doesn't exist or has ended. */
export async function findSession(q: Query, sessionHash: string, limits: SessionLimits): Promise<LiveSession | null> {
  const row = await q.sql
    .selectFrom('sync_console_sessions')
    .select([...COLUMNS])
    .select([
      timePlus(q, sql`began_at`, limits.maxMs).as('ends_at'),
      timePlus(q, sql`seen_at`, limits.idleMs).as('idle_ends_at'),
      sql<number | boolean>`seen_at < ${dbTime(q, -limits.idleMs * NOTED_EVERY)}`.as('stale'),
    ])
    .where('session_hash', '=', sessionHash)
    .where(sql<boolean>`not ${hasEnded(q, limits)}`)
    .executeTakeFirst()
  if (!row) return null
  const { stale, ...session } = row
  return { ...session, isStale: Boolean(stale) }
}

export async function noteSessionSeen(db: Db, sessionHash: string): Promise<void> {
  await db.write('session-seen', (tx) =>
    tx.run(sql`update sync_console_sessions set seen_at = ${dbTime(tx)} where session_hash = ${sessionHash}`),
  )
}

export async function endSession(db: Db, sessionHash: string): Promise<void> {
  await db.write('session-end', (tx) => tx.sql.deleteFrom('sync_console_sessions').where('session_hash', '=', sessionHash).execute())
}

/** Ends all sessions for which `passes` returns false. */
export async function endSessions(db: Db, passes: (session: ConsoleSession) => boolean): Promise<void> {
  const sessions = await db.read.sql
    .selectFrom('sync_console_sessions')
    .select([...COLUMNS])
    .execute()
  for (const session of sessions) if (!passes(session)) await endSession(db, session.session_hash)
}

/**
 * SQL condition: the session has ended. Also true if `seen_at` is more than `idleMs` in the future, because a wrong
 * clock set it.
 */
function hasEnded(q: Query | Tx, { idleMs, maxMs }: SessionLimits) {
  return sql<boolean>`(began_at < ${dbTime(q, -maxMs)} or seen_at < ${dbTime(q, -idleMs)} or seen_at > ${dbTime(q, idleMs)})`
}
