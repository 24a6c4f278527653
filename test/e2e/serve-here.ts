import { startServing } from '../../src/app/serving.ts'
import { loadConfig } from '../../src/config/config.ts'
import { WakingClock } from '../tools/waking-clock.ts'
import { type Environment, LogLines, SERVE_ENV, type Served } from './serve.ts'

/** Starts `serve` in this process, for tests that neither kill it nor need its exit code. */
export async function serveHere(env: Environment): Promise<Served> {
  const clock = new WakingClock()
  const log = new LogLines()
  const write = (text: string) => {
    for (const line of text.trimEnd().split('\n')) log.hear(line)
  }
  const load = async () => loadConfig({ ...SERVE_ENV, ...env })
  const serving = await startServing(load, { role: 'all', overrides: { clock, logDestination: { write } } })
  serving.failed.catch((error: unknown) => log.hear(`serve failed: ${String(error)}`))
  let stopped: Promise<void> | undefined
  return {
    receiver: serving.receiver ?? '',
    ops: serving.ops,
    lines: () => log.kept,
    says: (part) => log.says(part),
    wake: (waking) => clock.wake(waking),
    async stop() {
      stopped ??= serving.stop().finally(() => log.end())
      await stopped
      return 0
    },
  }
}
