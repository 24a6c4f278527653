// A receiver whose process has few file descriptors, by a shell's limit. Argument: the path of the database. After any input, it uses up
// the rest of them; each line of its log begins with `log`.
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { systemClock } from '../../../src/base/clock.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { openDb } from '../../../src/store/open/open.ts'
import { until } from '../../tools/until.ts'
import { account, newSecret, recordingLog, startTestReceiver } from '../support.ts'

const [path = ''] = process.argv.slice(2)
const db = await openDb({ kind: 'sqlite', path }, { clock: systemClock, log: recordingLog().log })
await migrate(db)
const { lines } = await startTestReceiver({ db, accounts: [account('acme', [newSecret()])] })
console.log('listening')
process.stdin.once('end', () => process.exit(1))
await once(process.stdin, 'data')
try {
  for (;;) openSync('/dev/null', 'r')
} catch {
  // Now none is left.
}
await until('it is logged', () => lines.length > 1)
console.log(`log ${lines.at(-1)?.['msg']}`)
