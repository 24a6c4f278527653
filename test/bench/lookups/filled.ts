import { migrations } from '../../../migrations/index.ts'
import { systemClock } from '../../../src/base/clock.ts'
import type { DatabaseConfig, Db } from '../../../src/store/engine/db.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { openDb } from '../../../src/store/open/open.ts'
import { silentLog } from '../../tools/databases.ts'
import { fill } from './fill.ts'
import type { Scale } from './rows.ts'

/** The first migration that is there for lookups. */
export const LOOKUPS_VERSION = 15

/**
 * A new database with rows in it, brought up to date after they came, as a release does it.
 * @returns it, and how long that took.
 */
export async function openFilled(config: DatabaseConfig, scale: Scale): Promise<{ readonly db: Db; readonly migratingMs: number }> {
  const empty = await openDb(config, { clock: systemClock, log: silentLog })
  const before = migrations.filter(({ version }) => version < LOOKUPS_VERSION)
  await migrate(empty, before).finally(() => empty.close())
  await fill(config, scale)
  const db = await openDb(config, { clock: systemClock, log: silentLog })
  const startedAt = performance.now()
  await migrate(db)
  return { db, migratingMs: performance.now() - startedAt }
}
