import { describe, expect, it } from 'vitest'
import { PostgresNotifier } from '../../../src/store/postgres/notifier.ts'
import type { PostgresPool } from '../../../src/store/postgres/pool.ts'
import { silentLog } from '../../tools/databases.ts'

describe('the notifier on Postgres', () => {
  it('sends notifications that arrive at any moment around the end of another', async () => {
    for (let steps = 0; steps < 12; steps++) {
      const sent: string[] = []
      const ended = Promise.withResolvers<void>()
      const session = {
        query: async (text: string) => {
          sent.push(text)
        },
        release: () => ended.resolve(),
      }
      const pool = { connect: async () => session } as unknown as PostgresPool
      const notifier = new PostgresNotifier(pool, 'mirror', silentLog)
      notifier.notify('inbox')
      await ended.promise
      for (let step = 0; step < steps; step++) await Promise.resolve()
      notifier.notify('reads')
      await new Promise(setImmediate)
      expect(sent.join(), `${steps} steps after it`).toContain("'reads'")
    }
  })
})
