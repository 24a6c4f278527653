import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { openDb } from '../../src/store/open/open.ts'

export async function makeTemplate(folder: string): Promise<string> {
  const path = join(folder, 'template.db')
  const log = createLog({ level: 'silent', pretty: false, secrets: [], destination: { write() {} } })
  const db = await openDb({ kind: 'sqlite', path }, { clock: systemClock, log })
  await migrate(db)
  await db.close()
  return path
}
