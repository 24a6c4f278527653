import packageJson from '../package.json' with { type: 'json' }
import type { ServeRole } from './app/running.ts'
import type { Serving } from './app/serving.ts'
import { whenAborted } from './base/abortable.ts'
import { type Clock, systemClock } from './base/clock.ts'
import { messageOf, UsageError } from './base/errors.ts'
import type { Host } from './base/host.ts'
import { createLog } from './base/log.ts'
import type { Config } from './config/config.ts'
import { timeFromMs } from './model/time.ts'
import type { DemoCommandOptions } from './ops/cli/commands/context.ts'
import { runCli } from './ops/cli/program.ts'

/**
 * Runs the command in `host.argv`.
 * @param clock used for all times and waiting.
 * @returns the exit code.
 */
export function main(host: Host, clock: Clock = systemClock): Promise<number> {
  const { version } = packageJson
  return runCli({
    host,
    clock,
    version,
    parts: {
      serve: (load, role) => serve(load, role, host, clock),
      sandbox: (options) => sandbox(options, host, clock),
      demo: (options) => demo(options, host, clock),
    },
  })
}

/** Runs `serve`. Imports the services here, because no other command needs them. */
async function serve(load: () => Promise<Config>, role: ServeRole, host: Host, clock: Clock): Promise<void> {
  const { startServing } = await import('./app/serving.ts')
  let serving: Serving
  try {
    serving = await startServing(load, { role, pretty: host.stdout.isTTY, env: host.env, signal: host.signal, overrides: { clock } })
  } catch (error) {
    if (!host.signal.aborted || error !== host.signal.reason) throw error
    // A signal during startup stops the process normally, without an error.
    host.stderr.write('stopped before it was ready\n')
    return
  }
  // Reloads immediately if SIGHUP arrived during startup, because startup may have read the old settings.
  host.onReload(() => void serving.reload())
  host.onCrash((error) => serving.log.fatal({ err: error }, `submission-mirror stopped because of an internal error: ${messageOf(error)}`))
  try {
    await Promise.race([whenAborted(host.signal), serving.failed])
  } finally {
    await serving.stop()
  }
}

/** Runs `sandbox`. Imports the emulator only for this command. */
async function sandbox(given: Readonly<Record<string, unknown>>, host: Host, clock: Clock): Promise<void> {
  const { sandboxCommandSchema, runSandbox } = await import('./sandbox/command.ts')
  const options = sandboxCommandSchema.safeParse(given)
  if (!options.success) throw new UsageError(options.error.issues.map((issue) => `--${kebab(issue.path.join('.'))}: ${issue.message}`))
  const { stdout, stderr, signal } = host
  const log = createLog({
    level: 'info',
    pretty: stdout.isTTY,
    secrets: [],
    ...(!stdout.isTTY && { destination: { write: (line) => stderr.write(line) } }),
  })
  await runSandbox(options.data, { log, clock, signal, print: (line) => stdout.write(`${line}\n`) })
}

/**
 * Runs `demo`. Imports the demo only for this command.
 * @returns whether the service, the mirror, and the AMS agree at the end.
 */
async function demo({ folder, hold }: DemoCommandOptions, host: Host, clock: Clock): Promise<boolean> {
  const [{ runDemo }, { makeDemoFolder }] = await Promise.all([import('./demo/demo.ts'), import('./demo/folder.ts')])
  const stamp = timeFromMs(clock.now()).slice(0, 19).replace(/\D/g, '')
  const log = createLog({ level: 'silent', pretty: false, secrets: [], destination: { write() {} } })
  return await runDemo({ host, clock, log, folder: makeDemoFolder(folder, stamp), hold })
}

function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
