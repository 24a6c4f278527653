// Writes until the disk is full (the limit on the size of files, which a shell has set), then gets space and continues.
// Argument: the path of the database.
import { spawnSync } from 'node:child_process'
import { sql } from 'kysely'
import { systemClock } from '../../../src/base/clock.ts'
import { TransientError } from '../../../src/base/errors.ts'
import { createLog } from '../../../src/base/log.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { openDb } from '../../../src/store/open/open.ts'

const log = createLog({ level: 'silent', pretty: false, secrets: [] })
const db = await openDb({ kind: 'sqlite', path: process.argv[2] ?? '' }, { clock: systemClock, log })
await migrate(db)

function write(id: number): Promise<unknown> {
  return db.write('fill', (tx) =>
    tx.run(sql`insert into sync_counters (account, name, label, value) values ('acme', ${'x'.repeat(100_000)}, ${String(id)}, ${id})`),
  )
}

let stored = 0
let refused: unknown
try {
  for (; stored < 1_000; stored++) await write(stored)
} catch (error) {
  refused = error
}
console.log('refused', refused instanceof TransientError, refused instanceof Error ? refused.message : String(refused))
spawnSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited'])
await write(stored)
const kept = await db.read.count(sql`select count(*) from sync_counters`)
console.log('kept', kept === stored + 1)
await db.close()
process.exit(0)
