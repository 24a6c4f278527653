import { Command, CommanderError } from 'commander'
import { messageOf, UsageError } from '../../base/errors.ts'
import { addAccount } from './commands/account.ts'
import { addAlarm } from './commands/alarm.ts'
import { addBackup, addRestore } from './commands/backup.ts'
import type { CommandContext } from './commands/context.ts'
import { addCopy } from './commands/copy.ts'
import { addDemo } from './commands/demo.ts'
import { addDestination } from './commands/destination.ts'
import { addDoctor } from './commands/doctor.ts'
import { addDocument } from './commands/document.ts'
import { addInbox } from './commands/inbox.ts'
import { addMcp } from './commands/mcp.ts'
import { addMigrate } from './commands/migrate.ts'
import { addOutbox } from './commands/outbox.ts'
import { addProtect } from './commands/protect.ts'
import { addPurge } from './commands/purge.ts'
import { addReconcile } from './commands/reconcile.ts'
import { addRetention } from './commands/retention.ts'
import { addSandbox } from './commands/sandbox.ts'
import { addServe } from './commands/serve.ts'
import { addStatus } from './commands/status.ts'
import { addSubmission } from './commands/submission.ts'
import { addSync } from './commands/sync.ts'
import { addTrack } from './commands/track.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'

const EXIT_CODES = `
Exit codes: 0 done; 1 failed while running, or something could not be checked; 2 wrong usage or settings;
3 something was found and left; 4 not done: another run is in progress, or the run's budget ended.
The settings are told in config/README.md.`

/**
 * Runs the command of the arguments. Results go to standard output, problems to standard error, one sentence each.
 * @returns the exit code.
 */
export async function runCli(context: Omit<CommandContext, 'exitCode'>): Promise<number> {
  const c: CommandContext = { ...context, exitCode: exitCodes.done }
  const { stderr } = c.host
  try {
    await commands(c).parseAsync([...c.host.argv], { from: 'user' })
    return c.exitCode
  } catch (error) {
    // Commander has printed the problem, or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
    if (c.host.signal.aborted && error === c.host.signal.reason) stderr.write('stopped before it was done\n')
    else
      for (const line of error instanceof UsageError ? error.problems : [notListening(error) ?? messageOf(error)]) stderr.write(`${line}\n`)
    return exitCodeOf(error)
  }
}

/** Node's error codes for an address that this machine does not have. */
const NOT_OURS = ['EADDRNOTAVAIL', 'EINVAL', 'ENOTFOUND', 'EAI_AGAIN']

/** @returns why an address cannot be listened on, and what to do; undefined for any other error. */
function notListening(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, syscall, address, hostname, port }: Refused = error
  // Names are resolved here only for listening: errors of connections are handled where they connect.
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return undefined
  if (code === 'EADDRINUSE')
    return `port ${port} of ${address} is used by another program: stop that, or choose another port (PORT and OPS_PORT, or --port of the sandbox)`
  if (code === 'EACCES')
    return `port ${port} of ${address} needs more rights than this user has: choose a port from 1024 on (PORT and OPS_PORT, or --port of the sandbox)`
  if (NOT_OURS.includes(String(code)))
    return `${address ?? hostname} is no address of this machine: choose one that it has (HOST and OPS_HOST, or --host of the sandbox), such as 127.0.0.1`
  return undefined
}

/** The fields of Node's error when listening fails. */
type Refused = Error & Partial<Record<'code' | 'syscall' | 'address' | 'hostname' | 'port', unknown>>

function commands(c: CommandContext): Command {
  const program = new Command('submission-mirror')
    .description("a live local copy of a brokerage's submissions, in its own database")
    .version(c.version, '--version', 'print the version')
    .helpOption('--help', 'show help')
    .showHelpAfterError('(--help shows what there is)')
    .addHelpText('after', EXIT_CODES)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => c.host.stdout.write(text),
      writeErr: (text) => c.host.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, '')),
    })
  const reading = [addServe, addMigrate, addTrack, addSync, addSubmission, addReconcile, addStatus, addInbox, addAccount]
  for (const add of [
    ...reading,
    addOutbox,
    addDestination,
    addAlarm,
    addDoctor,
    addDocument,
    addBackup,
    addRestore,
    addCopy,
    addRetention,
    addProtect,
    addPurge,
    addMcp,
    addSandbox,
    addDemo,
  ])
    add(program, c)
  return program
}
