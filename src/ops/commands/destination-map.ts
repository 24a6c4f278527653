import { readFileSync, statSync } from 'node:fs'
import type { Command } from 'commander'
import type { Config } from '../../config.ts'
import { messageOf, UsageError } from '../../errors.ts'
import type { Db } from '../../store/db.ts'
import { listMappings, type MappingRow, storeMappings } from '../../store/push-map.ts'
import { knownSubmissions } from '../../store/submissions.ts'
import { countIn, submissionIn } from '../arguments.ts'
import { type MapTarget, readMapFile, rowOf } from '../map-file.ts'
import { table } from '../table.ts'
import { counted, shortTime } from '../text.ts'
import { type CommandContext, destinationOf, printJson, withStore } from './context.ts'

/** Mappings in one transaction: few enough that a running serve does not wait. */
const STEP = 200
const PAUSE_MS = 10
const FILE_LIMIT_BYTES = 64 * 1024 * 1024
const MAX_LISTED = 100_000
const SHOWN_PROBLEMS = 50

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
    .option('--field <name=value>', 'more for templates and adapters; may be repeated', (text: string, all: string[]) => [...all, text], [])
    .option('--account <name>', 'the account of the submission, where the destination has several')
    .option('--limit <n>', 'how many are listed at most', '50')
    .option('--json', 'list as JSON, for programs')
    .action((name: string, options: MapOptions) => map(c, name, options))
}

async function map(c: CommandContext, name: string, options: MapOptions): Promise<void> {
  const problems: string[] = []
  const { file, client } = options
  const limit = countIn(options.limit, '--limit', MAX_LISTED, problems)
  const submissionId = submissionIn(options.submission, '--submission', problems)
  if (file !== undefined && (client ?? options.submission ?? options.account ?? options.policy ?? options.field[0]) !== undefined) {
    problems.push('destination map: give --file, or --submission and --client, not both')
  }
  if (client !== undefined && options.submission === undefined) problems.push('destination map: --client needs --submission')
  if (client === undefined && (options.policy ?? options.field[0]) !== undefined)
    problems.push('destination map: --policy and --field need --client')
  for (const field of options.field) if (!/^[^=]+=/.test(field)) problems.push(`--field: ${JSON.stringify(field)} is not NAME=VALUE`)
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ config, db }) => {
    if (file === undefined && client === undefined) {
      const mappings = await listMappings(db.read, { destination: name, account: options.account, submissionId }, limit)
      if (options.json) printJson(c, mappings.map(fieldsOf))
      else c.host.stdout.write(tableOf(mappings))
      return
    }
    const target = targetOf(config, name)
    await store(c, db, file === undefined ? single(options, target) : fromFile(file, target))
  })
}

function targetOf(config: Config, name: string): MapTarget {
  const { accounts, mapping } = destinationOf(config, name)
  if (mapping === 'none') {
    throw new UsageError([`destination ${name} asks for no mapping; set its mapping to required, or take this back`])
  }
  if (accounts.length === 0) throw new UsageError([`destination ${name} has no account in the settings; set the account as for \`serve\``])
  return { destination: name, accounts }
}

function single(options: MapOptions, target: MapTarget): MappingRow[] {
  const { submission = '', account = '', client = '', policy = '', field } = options
  const fields = field.map((text): [string, string] => [text.slice(0, text.indexOf('=')).trim(), text.slice(text.indexOf('=') + 1)])
  const row = rowOf(
    new Map([...fields, ['submission_id', submission], ['account', account], ['client', client], ['policy', policy]]),
    target,
  )
  if ('problem' in row) throw new UsageError([row.problem])
  return [row]
}

function fromFile(file: string, target: MapTarget): readonly MappingRow[] {
  let text: string
  try {
    if (statSync(file).size > FILE_LIMIT_BYTES) throw new Error(`it is larger than ${FILE_LIMIT_BYTES / 1024 / 1024} MiB; split it`)
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError([`--file: ${file} cannot be read: ${messageOf(error)}`])
  }
  const { rows, problems } = readMapFile(text, file, target)
  if (problems.length === 0) return rows
  const more = problems.length - SHOWN_PROBLEMS
  throw new UsageError([
    ...problems.slice(0, SHOWN_PROBLEMS),
    ...(more > 0 ? [`and ${more} more`] : []),
    'nothing was stored; mend the file',
  ])
}

async function store(c: CommandContext, db: Db, rows: readonly MappingRow[]): Promise<void> {
  let unknown = 0
  for (let from = 0; from < rows.length; from += STEP) {
    c.host.signal.throwIfAborted()
    const step = rows.slice(from, from + STEP)
    await storeMappings(db, step, 'import')
    const known = await knownSubmissions(
      db.read,
      step.map(({ account, submissionId }) => ({ account, submission_id: submissionId })),
    )
    unknown += step.length - known.size
    if (from + STEP < rows.length) await c.clock.sleep(PAUSE_MS, c.host.signal)
  }
  c.host.stdout.write(`${counted(rows.length, 'submission')} mapped; what waited for that goes out now\n`)
  if (unknown > 0) c.host.stdout.write(`${unknown} of these submissions not known to the mirror yet\n`)
}

type Stored = Awaited<ReturnType<typeof listMappings>>

function fieldsOf({ destination, account, submissionId, client, policy, fields, mappedAt, mappedVia }: Stored[number]) {
  return { destination, account, submission_id: submissionId, client, policy, fields, mapped_at: mappedAt, mapped_via: mappedVia }
}

function tableOf(mappings: Stored): string {
  return table(
    ['destination', 'account', 'submission', 'client', 'policy', 'fields', 'mapped', 'by'],
    mappings.map((m) => [
      ...[m.destination, m.account, m.submissionId, m.client, m.policy],
      ...[Object.keys(m.fields).length === 0 ? null : JSON.stringify(m.fields), shortTime(m.mappedAt), m.mappedVia],
    ]),
  )
}
