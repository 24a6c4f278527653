import { Command, CommanderError } from 'commander'
import { messageOf, UsageError } from '../../base/errors.ts'
import { subjects } from '../operations/index.ts'
import type { CommandContext } from './commands/context.ts'
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
    await (await commandsOf(c)).parseAsync([...c.host.argv], { from: 'user' })
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

type Add = (program: Command, c: CommandContext) => void

/**
 * Every command, in the order of the help, and what loads it. Loading all of them takes longer than most of them work, so only the one that is
 * called is loaded.
 */
const commandLoaders: Readonly<Record<string, () => Promise<Add>>> = {
  serve: async () => (await import('./commands/serve.ts')).addServe,
  migrate: async () => (await import('./commands/migrate.ts')).addMigrate,
  track: async () => (await import('./commands/track.ts')).addTrack,
  sync: async () => (await import('./commands/sync.ts')).addSync,
  submission: () => addSubject('submission'),
  quote: () => addSubject('quote'),
  item: () => addSubject('item'),
  changes: () => addSubject('changes'),
  row: () => addSubject('row'),
  search: () => addSubject('search'),
  query: async () => (await import('./commands/query.ts')).addQuery,
  reconcile: async () => (await import('./commands/reconcile.ts')).addReconcile,
  status: () => addSubject('status'),
  inbox: () => addSubject('inbox'),
  action: () => addSubject('action'),
  account: () => addSubject('account'),
  outbox: () => addSubject('outbox'),
  destination: () => addSubject('destination'),
  alarm: () => addSubject('alarm'),
  doctor: async () => (await import('./commands/doctor.ts')).addDoctor,
  document: () => addSubject('document', async () => (await import('./commands/document-get.ts')).addDocumentGet),
  backup: () => addSubject('backup'),
  restore: async () => (await import('./commands/restore.ts')).addRestore,
  copy: async () => (await import('./commands/copy.ts')).addCopy,
  retention: () => addSubject('retention'),
  protect: async () => (await import('./commands/protect.ts')).addProtect,
  purge: () => addSubject('purge'),
  mcp: async () => (await import('./commands/mcp.ts')).addMcp,
  sandbox: async () => (await import('./commands/sandbox.ts')).addSandbox,
  demo: async () => (await import('./commands/demo.ts')).addDemo,
}

/** The commands of a subject's operations. @param loadOther loads what is no operation and stands beside them. */
async function addSubject(name: keyof typeof subjects, loadOther?: () => Promise<Add>): Promise<Add> {
  const [{ addOperations }, operations, addOther] = await Promise.all([import('./from-operation.ts'), subjects[name].load(), loadOther?.()])
  return (program, c) => {
    const group = addOperations(program, c, subjects[name].about, operations)
    addOther?.(group, c)
  }
}

async function commandsOf(c: CommandContext): Promise<Command> {
  const program = new Command('submission-mirror')
    .description("a live local copy of a brokerage's submissions, in its own database")
    .version(c.version, '--version', 'print the version')
    .helpOption('--help', 'show help')
    .showHelpAfterError('(--help shows what there is)')
    .addHelpText('after', EXIT_CODES)
    // `reconcile --account A` and `reconcile list --account A` each have options of their own.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => c.host.stdout.write(text),
      writeErr: (text) => c.host.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, '')),
    })
  for (const load of loadersFor(c.host.argv[0])) (await load())(program, c)
  return program
}

/** @param first argument of the command line. The help, and what is said of an unknown command, need all commands. */
function loadersFor(first: string | undefined): readonly (() => Promise<Add>)[] {
  if (first === '--version') return []
  const one = first !== undefined && Object.hasOwn(commandLoaders, first) ? commandLoaders[first] : undefined
  return one === undefined ? Object.values(commandLoaders) : [one]
}
