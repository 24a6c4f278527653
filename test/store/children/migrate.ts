// Migrates a database after an input. Argument: the settings of the database as JSON, a URL as text.
import { once } from 'node:events'
import { systemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { openDb } from '../../../src/store/open/open.ts'
import { databaseFrom } from '../../tools/database-json.ts'

const config = databaseFrom(process.argv[2] ?? '')
console.log('ready')
await once(process.stdin, 'data')
const db = await openDb(config, { clock: systemClock, log: createLog({ level: 'silent', pretty: false, secrets: [] }) })
console.log('taken', JSON.stringify(await migrate(db)))
await db.close()
process.exit(0)
