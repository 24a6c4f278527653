// Makes a due backup and prints the result. Arguments: the time in ms, the database, the folder of backups, and a part of the file name at
// whose appearance the process dies.
import { watch } from 'node:fs'
import { ManualClock } from '../../../../src/base/clock.ts'
import { ScheduledBackups } from '../../../../src/ops/backup/scheduled-backups.ts'
import { lastUpkeep } from '../../../../src/store/upkeep/upkeep.ts'
import { openAgain, silentLog } from '../../../tools/databases.ts'

const [, , nowMs, path = '', dir = '', fatal] = process.argv
if (fatal !== undefined) watch(dir, (_, name) => name?.includes(fatal) && process.kill(process.pid, 'SIGKILL'))
const clock = new ManualClock(Number(nowMs))
const db = await openAgain({ kind: 'sqlite', path }, { clock })
const settings = { cron: '0 2 * * *', timeZone: 'UTC', dir, keep: 1, keepDays: null }
const backups = new ScheduledBackups({ db, clock, log: silentLog, source: path, settings })
console.log(await backups.runIfDue(new AbortController().signal))
console.log(`because ${(await lastUpkeep(db.read, 'backup'))?.waits_for}`)
process.exit(0)
