import { systemClock } from '../../src/clock.ts'
import type { Db } from '../../src/store/db.ts'
import { listOutbox, type OutboxEntry } from '../../src/store/outbox-queries.ts'

const PATIENCE_MS = 20_000
const LOOK_MS = 10

/** What there is for a destination, the oldest first. */
export async function outboxFor(db: Db, destination: string): Promise<OutboxEntry[]> {
  return (await listOutbox(db.read, { destination }, 100)).reverse()
}

/** Waits until the rows for a destination, the oldest first, are in these states. */
export async function outboxBecomes(db: Db, destination: string, states: readonly string[]): Promise<OutboxEntry[]> {
  let rows: OutboxEntry[] = []
  await comesAbout(async () => {
    rows = await outboxFor(db, destination)
    return rows.map(({ state }) => state).join() === states.join()
  }).catch((error: unknown) => {
    throw new Error(`the outbox is ${rows.map(({ state, error: why }) => `${state} (${why ?? ''})`).join()}, not ${states.join()}`, {
      cause: error,
    })
  })
  return rows
}

/** No signal tells of what is awaited here, so the database is asked again and again. */
export async function comesAbout(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('it did not come about')
    await systemClock.sleep(LOOK_MS)
  }
}
