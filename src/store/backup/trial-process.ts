import { join } from 'node:path'
import process from 'node:process'
import { systemClock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { guard } from '../../base/guarded-process.ts'
import { createLog } from '../../base/log.ts'
import { restoreSqlite } from './restore.ts'
import type { TrialAnswer, TrialOrder } from './trial.ts'

/** Child process that `trial.ts` starts. Restores a backup into a temporary folder. */

guard()
const { file, folder } = await new Promise<TrialOrder>((resolve) => process.once('message', (message) => resolve(message as TrialOrder)))
const log = createLog({ level: 'silent', pretty: false, secrets: [], destination: { write() {} } })
const answer: TrialAnswer = await restoreSqlite({ kind: 'sqlite', path: join(folder, 'mirror.db') }, file, {
  clock: systemClock,
  log,
  who: 'schedule',
}).then(
  () => ({ problem: null }),
  (error: unknown) => ({ problem: messageOf(error) }),
)
process.send?.(answer)
