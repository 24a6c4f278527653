import { inApplyTransaction } from '../../src/apply/apply.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentObserver } from '../../src/base/observer.ts'
import type { EventObservation, MessageObservation } from '../../src/model/observations.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { openDb } from '../../src/store/open/open.ts'
import { newSqlite, silentLog } from '../tools/databases.ts'
import {
  byFullRead,
  observedEvent,
  observedMessage,
  observedState,
  uuid,
  wireEvent,
  wireLane,
  wireMessage,
  wireRequirements,
} from '../tools/observations.ts'
import { countWrites } from './counted-writes.ts'
import type { BenchRow } from './table.ts'

const RECORDS = 1_000
export async function fullReadBench(): Promise<BenchRow[]> {
  const place = newSqlite()
  const db = await openDb(place.config, { clock: systemClock, log: silentLog })
  try {
    await migrate(db)
    await replay(db, 1)
    const writes = countWrites(place.config.path, `a replay of ${2 * RECORDS} records and a state read that changed nothing`)
    await replay(db, 2)
    return [writes()]
  } finally {
    await db.close()
    await place.remove()
  }
}

async function replay(db: Db, readNo: number): Promise<void> {
  const submissionId = uuid(9, 1)
  const observations: (EventObservation | MessageObservation)[] = []
  for (let n = 0; n < RECORDS; n++) {
    observations.push(
      observedEvent('bench', submissionId, wireEvent(n), byFullRead),
      observedMessage('bench', submissionId, wireMessage(n), byFullRead),
    )
  }
  await inApplyTransaction(db, silentObserver, 'bench', (transaction) => transaction.apply(observations))
  const view = wireRequirements(submissionId, [wireLane(0), wireLane(1)], {}, { generated_at: new Date().toISOString() })
  await inApplyTransaction(db, silentObserver, 'bench', (transaction) =>
    transaction.apply([observedState('bench', submissionId, view, readNo)]),
  )
}
