import type { Db } from '../../src/store/engine/db.ts'
import { listOutbox, type OutboxEntry } from '../../src/store/outbox/queries.ts'
import { until } from '../tools/until.ts'

export async function outboxFor(db: Db, destination: string): Promise<OutboxEntry[]> {
  return (await listOutbox(db.read, { destination }, 100)).reverse()
}

export async function outboxBecomes(db: Db, destination: string, states: readonly string[]): Promise<OutboxEntry[]> {
  let rows: OutboxEntry[] = []
  await until('the outbox is so', async () => {
    rows = await outboxFor(db, destination)
    return rows.map(({ state }) => state).join() === states.join()
  }).catch((error: unknown) => {
    throw new Error(`the outbox is ${rows.map(({ state, error: why }) => `${state} (${why ?? ''})`).join()}, not ${states.join()}`, {
      cause: error,
    })
  })
  return rows
}
