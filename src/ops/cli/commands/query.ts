import { text } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import { plainCsvText } from '../../../base/csv-text.ts'
import { UsageError } from '../../../base/errors.ts'
import type { Json } from '../../../model/json.ts'
import { type AnswerPart, runQuery } from '../../../store/query/query.ts'
import { parseCount } from '../../actions/arguments.ts'
import { type Cell, table } from '../../output/table.ts'
import { pluralize } from '../../output/text.ts'
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

/** Adds the command `query SQL [--csv|--json] [--limit N] [--timeout S]`. */
export function addQuery(program: Command, c: CommandContext): void {
  program
    .command('query')
    .description('run one read-only SQL statement on the public tables and views, also while `serve` runs; values are not masked')
    .argument('<sql>', 'the statement, in quotes; - reads it from standard input')
    .option('--csv', 'as CSV, with values as stored')
    .addOption(new Option('--json', 'as JSON, for programs: a list of rows').conflicts('csv'))
    .option('--limit <n>', `maximum number of rows (default: ${TABLE_ROWS} in a table, no limit with --csv and --json)`)
    .option('--timeout <s>', 'time limit in seconds', '30')
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
  // To a file or pipe, write bytes, because the output escapes control characters in strings.
  const writeCsv = (piece: string) => void host.stdout.write(host.stdout.isTTY ? piece.replaceAll('\r\n', '\n') : Buffer.from(piece))
  const answer = options.csv ? csvAnswer(writeCsv) : options.json ? jsonAnswer(write) : tableAnswer(write, widthOf(c))
  const isCut = await runQuery(database, { sql, limit, timeoutMs }, { clock, signal: host.signal }, (part) => answer.add(part))
  answer.end()
  if (isCut) host.stderr.write(`more than ${limit} rows match; raise --limit\n`)
}

/** Takes the parts of a query's answer as they arrive, and writes them. */
interface QueryAnswer {
  add(part: AnswerPart): void
  /** Writes the rest of the output, after the last part. */
  end(): void
}

type Write = (text: string) => void
type Rows = readonly (readonly Json[])[]

/** Writes an aligned table. Needs all rows, so writes nothing before `end`. */
function tableAnswer(write: Write, width: number): QueryAnswer {
  let headings: readonly string[] = []
  const rows: Cell[][] = []
  return {
    add(part) {
      if ('columns' in part) headings = part.columns
      else for (const row of part.rows) rows.push(row.map(cellOf))
    },
    end() {
      const title = pluralize(rows.length, 'row')
      write(rows.length === 0 ? `No rows (${headings.join(', ')}).\n` : table({ title, headings, rows, width, everyColumn: true }))
    },
  }
}

function csvAnswer(write: Write): QueryAnswer {
  let columns: readonly string[] = []
  return {
    add(part) {
      if ('columns' in part) columns = part.columns
      write('columns' in part ? plainCsvText([], columns, true) : plainCsvText(part.rows.map(flat), columns, false))
    },
    end() {},
  }
}

/** Writes a JSON list with one object per line. */
function jsonAnswer(write: Write): QueryAnswer {
  let columns: readonly string[] = []
  let isFirst = true
  const textOf = (rows: Rows) => {
    const lines = rows.map((row) => `  ${JSON.stringify(Object.fromEntries(columns.map((column, index) => [column, row[index]])))}`)
    const before = isFirst ? '\n' : ',\n'
    isFirst = false
    return `${before}${lines.join(',\n')}`
  }
  return {
    add(part) {
      if ('rows' in part) {
        if (part.rows.length > 0) write(textOf(part.rows))
        return
      }
      columns = part.columns
      const twice = columns.find((column, index) => columns.indexOf(column) < index)
      if (twice !== undefined) throw new UsageError([`two columns have the name ${twice}; rename one with \`as\``])
      write('[')
    },
    end() {
      write(isFirst ? ']\n' : '\n]\n')
    },
  }
}

function cellOf(value: Json): Cell {
  const flatValue = flat([value])[0]
  return typeof flatValue === 'boolean' ? String(flatValue) : (flatValue ?? null)
}

/** Converts lists and objects to JSON text, because a cell holds one value. */
function flat(row: readonly Json[]): (string | number | boolean | null)[] {
  return row.map((value) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value))
}
