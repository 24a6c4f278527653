import { Argument, Command, CommanderError } from 'commander'
import { messageOf, UsageError } from '../../base/errors.ts'
import type { Host, Output } from '../../base/host.ts'
import { printable } from '../../base/printable.ts'
import { coloured } from './colour.ts'
import type { CommandContext } from './commands/context.ts'
import { addCommands, commands } from './commands.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'
import { withOwnCommand } from './own-command.ts'
import { refuseUnknown, unknownCommandIn } from './unknown-command.ts'

const EXIT_CODES = `
Exit codes: 0 done; 1 failed while running, or something could not be checked; 2 wrong usage or settings;
3 something was found and left; 4 not done: another run is in progress, or the run's budget ended.
The settings are told in config/README.md.`

const COMPLETION = `
bash: add to ~/.bashrc    source <(submission-mirror completion bash)
zsh:  add to ~/.zshrc     source <(submission-mirror completion zsh)    (after compinit)
fish: run once            submission-mirror completion fish > ~/.config/fish/completions/submission-mirror.fish`

/**
 * Runs the command of the arguments. Results go to standard output, problems to standard error, one sentence each.
 * @returns the exit code.
 */
export async function runCli(context: Omit<CommandContext, 'exitCode'>): Promise<number> {
  // Not copied: reading `stdin` would open it.
  const { argv: given, command, stdout, stderr: errors } = context.host
  // What `query` and `--json` print is data, which may contain the same words.
  const isData = given[0] === 'query' || given.includes('--json')
  const host: Host = Object.create(context.host, {
    stdout: { value: escaped(isData ? stdout : withOwnCommand(coloured(stdout), command)) },
    stderr: { value: escaped(withOwnCommand(errors, command)) },
  })
  const c: CommandContext = { ...context, host, exitCode: exitCodes.done }
  const { stderr } = host
  try {
    const [first, ...names] = host.argv
    // Commander's own shows a command's help even for one that it does not have.
    const argv = first === 'help' ? [...names, '--help'] : host.argv
    const program = await programOf(c, namesFor(argv[0]))
    const unknown = unknownCommandIn(program, argv)
    if (unknown !== null) refuseUnknown(unknown, await programOf(c, Object.keys(commands)))
    await program.parseAsync([...argv], { from: 'user' })
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

/** The output with control characters made visible in every text, whatever sent it. Bytes pass as they are. */
function escaped(output: Output): Output {
  const write: Output['write'] = (text) => output.write(typeof text === 'string' ? printable(text) : text)
  return Object.create(output, { write: { value: write } })
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

/** @param names of the commands that it has; what all have stands beside them. */
async function programOf(c: CommandContext, names: readonly string[]): Promise<Command> {
  const program = new Command('submission-mirror')
    .description("a live local copy of a brokerage's submissions, in its own database")
    .version(c.version, '-V, --version', 'print the version')
    .option('--no-color', 'no colours, as with NO_COLOR; with any command')
    .helpOption('-h, --help', 'show help')
    .commandsGroup('Help:')
    .helpCommand('help [command...]', 'show help, of a command too')
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
  await addCommands(program, c, names)
  program
    .command('completion')
    .description('print what completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'yours').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', COMPLETION)
    .action(
      async (shell: 'bash' | 'zsh' | 'fish') => void c.host.stdout.write((await import('./completion.ts')).completions[shell](program)),
    )
  program
    .command('version')
    .description('print the version')
    .action(() => void c.host.stdout.write(`${c.version}\n`))
  return program
}

/** @param first word of the command line. The help, and what is said of an unknown command, need all commands. */
function namesFor(first: string | undefined): readonly string[] {
  if (first === '--version' || first === '-V' || first === 'version') return []
  return first !== undefined && Object.hasOwn(commands, first) ? [first] : Object.keys(commands)
}
