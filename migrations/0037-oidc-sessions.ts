import type { Migration } from '../src/store/schema/migration.ts'

/** Who signed in by OpenID Connect, and what its provider said of the roles. */
export const oidcSessions: Migration = {
  version: 37,
  name: 'oidc-sessions',
  oldestCompatible: 1,
  statements: () => ['alter table sync_console_sessions add column oidc text'],
}
