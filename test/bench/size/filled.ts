import { systemClock } from '../../../src/base/clock.ts'
import { protectStored } from '../../../src/ops/protect/protect-step.ts'
import type { DatabaseConfig, Db } from '../../../src/store/engine/db.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { openDb } from '../../../src/store/open/open.ts'
import { silentLog } from '../../tools/databases.ts'
import { fill } from './fill.ts'
import type { Scale } from './rows.ts'

export async function openFilled(config: DatabaseConfig, scale: Scale): Promise<Db> {
  const empty = await openDb(config, { clock: systemClock, log: silentLog })
  try {
    await migrate(empty)
    // As if served from its first day, so that a start doesn't process millions of rows.
    await protectStored({ db: empty, clock: systemClock }, new AbortController().signal)
  } finally {
    await empty.close()
  }
  await fill(config, scale)
  return openDb(config, { clock: systemClock, log: silentLog })
}
