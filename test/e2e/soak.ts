import { parseArgs } from 'node:util'
import { systemClock } from '../../src/clock.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { newSqlite, openAgain } from '../tools/databases.ts'
import { logFaults, untilAgreed } from './agreement.ts'
import { accountEnv, databaseEnv, runCommand, startServe } from './serve.ts'

/*
 * `serve` with an account of the sandbox, all faults on, for as long as wanted; ends with 0 when the mirror agrees with the service.
 *
 *   npx node test/e2e/soak.ts --minutes 10 --submissions 40
 */

/** What the story takes at speed 1. */
const STORY_MINUTES = 5
const SAY_MS = 30_000
const LOOKS = 2_400
const POLLING = { POLL_ACTIVE: '10s', POLL_QUIET: '20s', POLL_MAX: '30s', REPLAY_ACTIVE: '45s', REPLAY_QUIET: '60s', REPLAY_DORMANT: '90s' }

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' }, submissions: { type: 'string', default: '40' } } })
const place = newSqlite()
const sandbox = await startSandbox({
  seed: 'soak',
  submissions: Number(values.submissions),
  speed: STORY_MINUTES / Number(values.minutes),
  faults: 'all',
  autoStart: false,
})
const settings = { ...accountEnv(sandbox), ...databaseEnv(place.config) }
const serve = await startServe({ ...POLLING, ...settings })
await runCommand(settings, ['track', ...sandbox.submissionIds('default')])
sandbox.setTarget('default', `${serve.receiver}/webhooks`)
sandbox.startStory()

const ended = new AbortController()
void sandbox.storyEnded.then(() => ended.abort())
while (!ended.signal.aborted) {
  await systemClock.sleep(SAY_MS, ended.signal)
  const { deliveries, requests } = sandbox.stats()
  const asked = Object.values(requests).reduce((sum, n) => sum + n, 0)
  console.log(`${new Date().toISOString()} acknowledged ${deliveries.acknowledged}, lost ${deliveries.lost}, requests ${asked}`)
}
await sandbox.deliveriesSettled()

const db = await openAgain(place.config)
const faults = [...(await untilAgreed(db, sandbox, LOOKS)), ...(await logFaults(db))]
const code = await serve.stop()
if (code !== 0) faults.push(`serve ended with ${code}`)
for (const fault of faults) console.log(fault)
console.log(faults.length === 0 ? 'mirror agrees with the service' : 'the mirror differs from the service')
await db.close()
await sandbox.close()
await place.remove()
process.exitCode = faults.length === 0 ? 0 : 1
