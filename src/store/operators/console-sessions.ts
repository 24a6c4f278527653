import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { dbTime, timePlus } from '../engine/sql.ts'

/** How long a session may be: without a request, and altogether. In milliseconds. */
export interface SessionLimits {
  readonly idleMs: number
  readonly maxMs: number
}

/** Who is signed in. The database knows neither the session's id nor its token: it could not sign anybody in. */
export interface ConsoleSession {
  /** SHA-256 of the session's id, hex. */
  readonly session_hash: string
  /** The name of its token, or of who signed in by OpenID Connect. */
  readonly who: string
  /** HMAC of the token, or of the provider's settings, with the session's id as its key: hex. */
  readonly token_proof: string
  /** A few digits of a hash of the same: enough to see that a token changed, too few to find one. */
  readonly token_tag: string
  /** Values of the claim that gave its role, as a list in JSON text; null for a token. */
  readonly oidc: string | null
}

/** A session that has not ended. */
export interface LiveSession extends ConsoleSession {
  readonly ends_at: TimeText
  readonly idle_ends_at: TimeText
  /** Whether its last request was noted so long ago that this one should be. */
  readonly isStale: boolean
}

const COLUMNS = ['session_hash', 'who', 'token_proof', 'token_tag', 'oidc'] as const
/** A part of the idle limit: a session's requests are not each a write. */
const NOTED_EVERY = 0.1

/** Begins a session, and removes those that have ended. */
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

/** @returns a session that has not ended; null when there is none. */
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

/** Notes that a session made a request. */
export async function noteSessionSeen(db: Db, sessionHash: string): Promise<void> {
  await db.write('session-seen', (tx) =>
    tx.sql
      .updateTable('sync_console_sessions')
      .set({ seen_at: dbTime(tx) })
      .where('session_hash', '=', sessionHash)
      .execute(),
  )
}

/** Ends a session; nothing when there is none. */
export async function endSession(db: Db, sessionHash: string): Promise<void> {
  await db.write('session-end', (tx) => tx.sql.deleteFrom('sync_console_sessions').where('session_hash', '=', sessionHash).execute())
}

/** Ends the sessions that do not pass. */
export async function endSessions(db: Db, passes: (session: ConsoleSession) => boolean): Promise<void> {
  const sessions = await db.read.sql
    .selectFrom('sync_console_sessions')
    .select([...COLUMNS])
    .execute()
  for (const session of sessions) if (!passes(session)) await endSession(db, session.session_hash)
}

/** A session of the future was begun by a clock that ran ahead: it would outlive its limits. */
function hasEnded(q: Query | Tx, { idleMs, maxMs }: SessionLimits) {
  return sql<boolean>`(began_at < ${dbTime(q, -maxMs)} or seen_at < ${dbTime(q, -idleMs)} or seen_at > ${dbTime(q, idleMs)})`
}
