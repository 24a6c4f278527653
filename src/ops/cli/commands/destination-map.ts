import type { Command } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import type { Db } from '../../../store/engine/db.ts'
import { listMappings, type MappingRow, type StoredMapping } from '../../../store/outbox/push-map.ts'
import { parseCount, parseSubmissionId, readTextFile } from '../../actions/arguments.ts'
import { fieldProblem, type MapTarget, readMapFile, rowOf } from '../../actions/map-file.ts'
import { importMappings, mapTarget, shownMapping } from '../../actions/mappings.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import type { Table } from '../../output/table.ts'
import { ago, firstProblems, pluralize } from '../../output/text.ts'
import { actionContextOf, type CommandContext, printJson, printTable, withStore } from './context.ts'

const MAX_LISTED = 100_000

interface MapOptions {
  readonly file?: string
  readonly submission?: string
  readonly account?: string
  readonly client?: string
  readonly policy?: string
  readonly field: readonly string[]
  readonly limit: string
  readonly json?: boolean
}

/** `destination map NAME [--file F | --submission ID --client C]` */
export function addMap(destination: Command, c: CommandContext): void {
  destination
    .command('map')
    .description('say which client of the AMS submissions belong to; without --file and --client, list what was said')
    .argument('<name>', 'of the destination')
    .option('--file <file>', 'a CSV with the columns submission_id and client; account, policy and any others may be there')
    .option('--submission <id>', 'a single submission')
    .option('--client <client>', 'its client in the AMS')
    .option('--policy <policy>', 'its policy in the AMS')
    .option('--field <name=value>', 'more for templates and adapters; may be repeated', together)
    .option('--account <name>', 'the account of the submission, where the destination has several')
    .option('--limit <n>', 'how many are listed at most', '50')
    .option('--json', 'as JSON, for programs')
    .action((name: string, options: Omit<MapOptions, 'field'>) => map(c, name, { field: [], ...options }))
}

function together(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

async function map(c: CommandContext, name: string, options: MapOptions): Promise<void> {
  const problems: string[] = []
  const { file, client } = options
  const limit = parseCount(options.limit, '--limit', MAX_LISTED, problems)
  const submissionId = parseSubmissionId(options.submission, '--submission', problems)
  if (file !== undefined && (client ?? options.submission ?? options.account ?? options.policy ?? options.field[0]) !== undefined) {
    problems.push('destination map: give --file, or --submission and --client, not both')
  }
  if (client !== undefined && options.submission === undefined) problems.push('destination map: --client needs --submission')
  if (client === undefined && (options.policy ?? options.field[0]) !== undefined)
    problems.push('destination map: --policy and --field need --client')
  for (const field of options.field) {
    const problem = /^\s*[^=\s][^=]*=/.test(field) ? fieldProblem(fieldOf(field)[0]) : `${JSON.stringify(field)} is not NAME=VALUE`
    if (problem !== null) problems.push(`--field: ${problem}`)
  }
  const text = file === undefined ? undefined : readTextFile(file, problems)
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ config, db }) => {
    if (file === undefined && client === undefined) {
      const filter = { destination: name, account: options.account, submissionId }
      await refuseUnknownNames(db.read, config, filter)
      const mappings = await listMappings(db.read, filter, limit)
      if (options.json) printJson(c, mappings.map(shownMapping))
      else printTable(c, tableOf(mappings, c.clock.now()), 'No submission is mapped.')
      return
    }
    const target = mapTarget(config, name)
    const rows = file === undefined || text === undefined ? single(options, target) : fromFile(text, file, target)
    await store(c, db, name, rows, options.json ?? false)
  })
}

function single(options: MapOptions, target: MapTarget): MappingRow[] {
  const { destination, accounts } = target
  if (options.account === undefined && accounts.length > 1)
    throw new UsageError([`destination map: give --account, since ${destination} has several: ${accounts.join(', ')}`])
  const { submission = '', account = '', client = '', policy = '', field } = options
  const row = rowOf(
    new Map([...field.map(fieldOf), ['submission_id', submission], ['account', account], ['client', client], ['policy', policy]]),
    target,
  )
  if ('problem' in row) throw new UsageError([row.problem])
  return [row]
}

function fieldOf(text: string): [name: string, value: string] {
  return [text.slice(0, text.indexOf('=')).trim(), text.slice(text.indexOf('=') + 1)]
}

function fromFile(text: string, file: string, target: MapTarget): readonly MappingRow[] {
  const { rows, problems } = readMapFile(text, file, target)
  if (problems.length === 0) return rows
  throw new UsageError([...firstProblems(problems), 'nothing was stored; mend the file'])
}

async function store(c: CommandContext, db: Db, destination: string, rows: readonly MappingRow[], json: boolean): Promise<void> {
  const { unknown } = await importMappings(actionContextOf(c, db), destination, rows, 'import')
  if (json) return printJson(c, { stored: rows.length, unknown_submissions: unknown })
  c.host.stdout.write(`${pluralize(rows.length, 'submission')} mapped; what waited for that goes out now\n`)
  if (unknown > 0) c.host.stdout.write(`${unknown} of these submissions not known to the mirror yet\n`)
}

function tableOf(mappings: readonly StoredMapping[], now: number): Omit<Table, 'width'> {
  return {
    title: 'Submissions and their clients',
    headings: ['destination', 'account', 'submission', 'client', 'policy', 'fields', 'age', 'by'],
    rows: mappings.map((m) => [
      ...[m.destination, m.account, m.submissionId, m.client, m.policy],
      ...[Object.keys(m.fields).length === 0 ? null : JSON.stringify(m.fields), ago(m.mappedAt, now), m.mappedVia],
    ]),
  }
}
