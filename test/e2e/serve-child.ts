// `serve` in a process of its own, which tests may kill: as src/main.ts runs it, but for its clock. A message wakes
// what sleeps, as `WakingClock.wake` does.
import { startServing } from '../../src/app/serving.ts'
import { loadConfig } from '../../src/config/config.ts'
import { type Waking, WakingClock } from '../tools/waking-clock.ts'

const clock = new WakingClock()
process.on('message', (waking: Waking) => clock.wake(waking))
// Whoever started it is gone, be it in the middle of a test.
process.on('disconnect', () => process.exit(1))
const serving = await startServing(async () => loadConfig(process.env), { role: 'all', overrides: { clock } })
process.on('SIGTERM', () => void serving.stop().then(() => process.exit(0)))
await serving.failed
