// A receiver on SQLite whose disk is full: a shell has limited the size of files. Arguments: the path of the database, the webhook secret.
// After `room`, it lifts the limit.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { systemClock } from '../../../src/base/clock.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { openDb } from '../../../src/store/open/open.ts'
import { account, recordingLog, startTestReceiver } from '../support.ts'

const [path = '', secret = ''] = process.argv.slice(2)
const db = await openDb({ kind: 'sqlite', path }, { clock: systemClock, log: recordingLog().log })
await migrate(db)
const { port } = await startTestReceiver({ db, accounts: [account('acme', [secret], true)] })
console.log(`listening ${port}`)
process.stdin.once('end', () => process.exit(1))
await once(process.stdin, 'data')
spawnSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited'])
console.log('there is room')
