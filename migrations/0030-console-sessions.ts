import type { Migration } from '../src/store/schema/migration.ts'

/** Who is signed in to the ops port, so that restarts and other processes know it. */
export const consoleSessions: Migration = {
  version: 30,
  name: 'console-sessions',
  oldestCompatible: 1,
  statements: (t) => [
    `create table sync_console_sessions (
      session_hash text primary key, who text not null, token_proof text not null,
      began_at ${t.time} not null, seen_at ${t.time} not null)`,
  ],
}
