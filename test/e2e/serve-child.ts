// `serve` in its own process, which tests may kill: as in src/main.ts, except for the clock. Messages wake sleepers, as `WakingClock.wake`
// does.
import { startServing } from '../../src/app/serving.ts'
import { loadConfig } from '../../src/config/config.ts'
import { type Waking, WakingClock } from '../tools/waking-clock.ts'

const clock = new WakingClock()
process.on('message', (waking: Waking) => clock.wake(waking))
process.on('disconnect', () => process.exit(1))
const serving = await startServing(async () => loadConfig(process.env), { role: 'all', overrides: { clock } })
process.on('SIGTERM', () => void serving.stop().then(() => process.exit(0)))
await serving.failed
