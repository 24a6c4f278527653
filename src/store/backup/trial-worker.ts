import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { createLog } from '../../base/log.ts'
import { restoreSqlite } from './restore.ts'
import type { TrialAnswer, TrialOrder } from './trial.ts'

/** The worker thread of trial.ts. */

const { file, folder } = workerData as TrialOrder
const log = createLog({ level: 'silent', pretty: false, secrets: [], destination: { write() {} } })
const answer: TrialAnswer = await restoreSqlite({ kind: 'sqlite', path: join(folder, 'mirror.db') }, file, {
  clock: systemClock,
  log,
  who: 'schedule',
}).then(
  () => ({ problem: null }),
  (error: unknown) => ({ problem: messageOf(error) }),
)
parentPort?.postMessage(answer)
