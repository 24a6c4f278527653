import { Argument, Command, CommanderError } from 'commander'
import { messageOf, UsageError } from '../../base/errors.ts'
import type { Host, Output } from '../../base/host.ts'
import { printable } from '../../base/printable.ts'
import { withColors } from './color.ts'
import type { CommandContext } from './commands/context.ts'
import { addCommands, commands } from './commands.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'
import { refuseUnknown } from './unknown-command.ts'

const EXIT_CODES = `
Exit codes: 0 done; 1 failed, or a check was not possible; 2 wrong usage or settings;
3 differences were found and left; 4 not done: another run is active, the run's budget
ended, or the service asked for a pause.
config/README.md describes the settings.`

const COMPLETION = `
bash: add to ~/.bashrc    source <(submission-mirror completion bash)
zsh:  add to ~/.zshrc     source <(submission-mirror completion zsh)    (after compinit)
fish: run once            submission-mirror completion fish > ~/.config/fish/completions/submission-mirror.fish`

/**
 * Runs the command line. Prints results to standard output, and problems to standard error.
 * @returns the exit code.
 */
export async function runCli(context: Omit<CommandContext, 'exitCode'>): Promise<number> {
  const { argv: given, command, stdout, stderr: errors } = context.host
  // Don't color or rewrite the output of `query` and `--json`. The data may contain state names or command lines.
  const isData = given[0] === 'query' || given.includes('--json')
  // Use `Object.create`, because copying all properties of `context.host` would open `stdin`.
  const host: Host = Object.create(context.host, {
    stdout: { value: escaped(isData ? stdout : withOwnCommand(withColors(stdout), command)) },
    stderr: { value: escaped(withOwnCommand(errors, command)) },
  })
  const c: CommandContext = { ...context, host, exitCode: exitCodes.done }
  const { stderr } = host
  try {
    const [first, ...names] = host.argv
    // Turn `help COMMAND` into `COMMAND --help`, because commander's own `help` accepts unknown subcommands.
    const argv = first === 'help' ? [...names, '--help'] : host.argv
    const program = await programOf(c, namesFor(argv[0]))
    await refuseUnknown(program, argv, () => programOf(c, Object.keys(commands)))
    await program.parseAsync([...argv], { from: 'user' })
    return c.exitCode
  } catch (error) {
    // Commander has already printed the problem or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
    if (c.host.signal.aborted && error === c.host.signal.reason) stderr.write('stopped before it finished\n')
    else
      for (const line of error instanceof UsageError ? error.problems : [notListening(error) ?? messageOf(error)]) stderr.write(`${line}\n`)
    return exitCodeOf(error)
  }
}

/** Matches `submission-mirror` before a command name, in backticks or at the start of an indented line. */
const PRINTED = new RegExp(`(?<=\`|^ +)submission-mirror (?=(?:${Object.keys(commands).join('|')})\\b)`, 'gm')

/**
 * Wraps an output, and prints commands as users must type them.
 * @param command what users type instead of `submission-mirror`.
 */
function withOwnCommand(output: Output, command: string): Output {
  const write: Output['write'] = (text) => output.write(typeof text === 'string' ? text.replace(PRINTED, () => `${command} `) : text)
  return Object.create(output, { write: { value: write } })
}

/** Wraps an output. Escapes control characters in strings, and writes bytes unchanged. */
function escaped(output: Output): Output {
  const write: Output['write'] = (text) => output.write(typeof text === 'string' ? printable(text) : text)
  return Object.create(output, { write: { value: write } })
}

/** Node's error codes for an address that doesn't belong to this machine. */
const NOT_OURS = ['EADDRNOTAVAIL', 'EINVAL', 'ENOTFOUND', 'EAI_AGAIN']

/** @returns why listening failed, and what to do; undefined for any other error. */
function notListening(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, syscall, address, hostname, port }: Refused = error
  // A `getaddrinfo` error that arrives here is about the address to listen on, not about an outgoing connection.
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return undefined
  if (code === 'EADDRINUSE')
    return `port ${port} of ${address} is used by another program; stop it, or choose another port (PORT and OPS_PORT, or --port of the sandbox)`
  if (code === 'EACCES')
    return `port ${port} of ${address} needs more rights than this user has; choose a port from 1024 (PORT and OPS_PORT, or --port of the sandbox)`
  if (NOT_OURS.includes(String(code)))
    return `${address ?? hostname} is not an address of this machine; choose one of its addresses (HOST and OPS_HOST, or --host of the sandbox), such as 127.0.0.1`
  return undefined
}

type Refused = Error & Partial<Record<'code' | 'syscall' | 'address' | 'hostname' | 'port', unknown>>

/** @returns the program with `completion`, `version`, and the commands in `names`. */
async function programOf(c: CommandContext, names: readonly string[]): Promise<Command> {
  const program = new Command('submission-mirror')
    .description("a live, checked copy of a brokerage's submissions in your own database")
    .version(c.version, '-V, --version', 'print the version')
    .option('--no-color', 'no colors, like NO_COLOR; works with any command')
    .helpOption('-h, --help', 'show help')
    .commandsGroup('Help:')
    .helpCommand('help [command...]', 'show help for all or one command')
    .showHelpAfterError('(see --help)')
    .addHelpText('after', EXIT_CODES)
    // `reconcile` and `reconcile list` both have `--account`. Assign such an option to the command that precedes it.
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
    .description('print the completion script for a shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish']))
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

/**
 * @param first first word of the command line.
 * @returns names of the commands to load: only `first` if it is a command, none to print the version, otherwise all.
 */
function namesFor(first: string | undefined): readonly string[] {
  if (first === '--version' || first === '-V' || first === 'version') return []
  return first !== undefined && Object.hasOwn(commands, first) ? [first] : Object.keys(commands)
}
