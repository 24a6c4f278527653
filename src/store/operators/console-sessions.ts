import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { dbTime, timePlus } from '../engine/sql.ts'

/** Longest time without a request, and in total, in ms. */
export interface SessionLimits {
  readonly idleMs: number
  readonly maxMs: number
}

/** A console session. The database has neither its id nor its token, so it cannot be used to sign in. */
export interface ConsoleSession {
  /** SHA-256 of the session's id, hex. */
  readonly session_hash: string
  /** The name of its token, or of the person signed in by OpenID Connect. */
  readonly who: string
  /** HMAC of the token, or of the provider's settings, with the session's id as key: hex. */
  readonly token_proof: string
  /** A few digits of a hash of the same: enough to see that a token changed, too few to find it. */
  readonly token_tag: string
  /** Values of the claim that gave its role, as a JSON list; null for a token. */
  readonly oidc: string | null
}

export interface LiveSession extends ConsoleSession {
  readonly ends_at: TimeText
  readonly idle_ends_at: TimeText
  /** Whether the last recorded request is old enough to record another. */
  readonly isStale: boolean
}

const COLUMNS = ['session_hash', 'who', 'token_proof', 'token_tag', 'oidc'] as const
/** Part of the idle limit: not every request is recorded. */
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

/** @returns null when there is no such session, or it has ended. */
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

/** Ends the sessions for which `passes` is false. */
export async function endSessions(db: Db, passes: (session: ConsoleSession) => boolean): Promise<void> {
  const sessions = await db.read.sql
    .selectFrom('sync_console_sessions')
    .select([...COLUMNS])
    .execute()
  for (const session of sessions) if (!passes(session)) await endSession(db, session.session_hash)
}

/** A session dated in the future was begun by a clock that ran ahead, and would outlive its limits. */
function hasEnded(q: Query | Tx, { idleMs, maxMs }: SessionLimits) {
  return sql<boolean>`(began_at < ${dbTime(q, -maxMs)} or seen_at < ${dbTime(q, -idleMs)} or seen_at > ${dbTime(q, idleMs)})`
}
