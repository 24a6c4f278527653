import { text } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import { runQuery } from '../../../store/query/query.ts'
import { parseCount } from '../../actions/arguments.ts'
import { csvAnswer, jsonAnswer, tableAnswer } from '../query-answer.ts'
import { type CommandContext, databaseOf, widthOf } from './context.ts'

const MAX_ROWS = 100_000_000
const TABLE_ROWS = 1_000
const MAX_TIMEOUT_S = 86_400

interface QueryOptions {
  readonly csv?: boolean
  readonly json?: boolean
  readonly limit?: string
  readonly timeout: string
}

/** `query SQL [--csv|--json] [--limit N] [--timeout S]` */
export function addQuery(program: Command, c: CommandContext): void {
  program
    .command('query')
    .description('answer one SQL statement from the public tables and views, reading only, beside a running `serve`; nothing is masked')
    .argument('<sql>', 'the statement, in quotes; - reads it from standard input')
    .option('--csv', 'as CSV, with values as the tables have them')
    .addOption(new Option('--json', 'as JSON, for programs: a list of rows').conflicts('csv'))
    .option('--limit <n>', `how many rows at most (default: ${TABLE_ROWS} in a table, all with --csv and --json)`)
    .option('--timeout <s>', 'seconds after which it is stopped', '30')
    .action((sql: string, options: QueryOptions) => query(c, sql, options))
}

async function query(c: CommandContext, argument: string, options: QueryOptions): Promise<void> {
  const problems: string[] = []
  const asTable = !options.csv && !options.json
  const wanted = options.limit ?? (asTable ? String(TABLE_ROWS) : undefined)
  const limit = wanted === undefined ? null : parseCount(wanted, '--limit', MAX_ROWS, problems)
  const timeoutMs = parseCount(options.timeout, '--timeout', MAX_TIMEOUT_S, problems) * 1_000
  const database = databaseOf(c, problems)
  const { clock, host } = c
  const sql = argument === '-' ? await text(host.stdin) : argument
  const write = (piece: string) => void host.stdout.write(piece)
  // A file gets the values as they are, as bytes.
  const writeCsv = (piece: string) => void host.stdout.write(host.stdout.isTTY ? piece.replaceAll('\r\n', '\n') : Buffer.from(piece))
  const answer = options.csv ? csvAnswer(writeCsv) : options.json ? jsonAnswer(write) : tableAnswer(write, widthOf(c))
  const isCut = await runQuery(database, { sql, limit, timeoutMs }, { clock, signal: host.signal }, (part) => answer.add(part))
  answer.end()
  if (isCut) host.stderr.write(`there are more rows than these ${limit}: --limit takes a larger number\n`)
}
