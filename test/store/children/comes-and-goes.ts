import { sql } from 'kysely'
// Opens a SQLite database, writes one row, closes it, and does so again. Arguments: the path, a name for its rows, how many times.
import { systemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { openDb } from '../../../src/store/open/open.ts'

const [path = '', account = '', times = ''] = process.argv.slice(2)
const log = createLog({ level: 'silent', pretty: false, secrets: [] })
for (let value = 0; value < Number(times); value++) {
  const db = await openDb({ kind: 'sqlite', path }, { clock: systemClock, log })
  await db.write('row', (tx) =>
    tx.run(sql`insert into sync_counters (account, name, label, value) values (${account}, ${String(value)}, '', ${value})`),
  )
  await db.close()
}
console.log('done')
