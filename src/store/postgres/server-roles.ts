import { messageOf } from '../../base/errors.ts'
import type { SecretText } from '../../base/secret.ts'
import { inspectSession, PostgresServers } from './servers.ts'

/** What a server of a list is now. */
export interface ServerRole {
  /** Such as `db1.example:5432`. */
  readonly name: string
  readonly role: 'primary' | 'standby' | 'read-only' | 'unreachable'
  /** Why it cannot be reached. */
  readonly problem: string | null
}

/** Asks every server that the URL names what it is. More than one primary is a split: their logs go apart. Never rejects. */
export function serverRoles(url: SecretText): Promise<ServerRole[]> {
  return Promise.all(
    new PostgresServers(url).all.map(async (server): Promise<ServerRole> => {
      const one = new PostgresServers({ reveal: () => server.url })
      try {
        const client = await one.openAny({ application_name: 'submission-mirror probe' })
        try {
          const { isStandby, isReadOnly } = await inspectSession(client, one.attemptTimeoutMs)
          return { name: server.name, role: isStandby ? 'standby' : isReadOnly ? 'read-only' : 'primary', problem: null }
        } finally {
          void client.end().catch(() => {})
        }
      } catch (error) {
        return { name: server.name, role: 'unreachable', problem: messageOf(error) }
      }
    }),
  )
}
