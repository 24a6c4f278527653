// Makes the backup that is due, and says what came of it. Arguments: the database, and the folder of the backups.
import { systemClock } from '../../../../src/base/clock.ts'
import { ScheduledBackups } from '../../../../src/ops/backup/scheduled-backups.ts'
import { lastUpkeep } from '../../../../src/store/upkeep/upkeep.ts'
import { openAgain, silentLog } from '../../../tools/databases.ts'

const [, , path = '', dir = ''] = process.argv
const db = await openAgain({ kind: 'sqlite', path })
const settings = { cron: '0 2 * * *', timeZone: 'UTC', dir, keep: 1, keepDays: null }
const backups = new ScheduledBackups({ db, clock: systemClock, log: silentLog, source: path, settings })
console.log(await backups.runIfDue(new AbortController().signal))
console.log(`because ${(await lastUpkeep(db.read, 'backup'))?.waits_for}`)
process.exit(0)
