// Opens a database as another user. Arguments: its path, and the ids of user and group; '' is the user of this process.
import { systemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { openDb } from '../../../src/store/open/open.ts'

const [path = '', uid = '', gid = ''] = process.argv.slice(2)
if (uid !== '') {
  process.setgroups?.([])
  process.setgid?.(Number(gid))
  process.setuid?.(Number(uid))
}
try {
  await openDb({ kind: 'sqlite', path }, { clock: systemClock, log: createLog({ level: 'silent', pretty: false, secrets: [] }) })
  console.log('opened')
} catch (error) {
  console.log(error instanceof Error ? `${error.constructor.name} ${error.message}` : error)
}
process.exit(0)
