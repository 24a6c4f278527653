import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import { silentObserver } from '../../../base/observer.ts'
import { createDocumentStorage } from '../../../documents/storage/create.ts'
import { listDocuments } from '../../../store/mirror/documents.ts'
import { parseChoice, parseCount, parseSubmissionId } from '../../actions/arguments.ts'
import { checkDocumentFiles, fetchAgain } from '../../actions/document-check.ts'
import { openDocument } from '../../actions/documents.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { ago } from '../../output/text.ts'
import { exitCodes } from '../exit-codes.ts'
import { type CommandContext, printJson, printTable, withStore } from './context.ts'

const STATES = ['stored', 'waiting', 'failed', 'gone'] as const
const MAX_LISTED = 100_000

interface ListOptions {
  readonly account?: string
  readonly submission?: string
  readonly state?: string
  readonly limit: string
  readonly json?: boolean
}

interface GetOptions {
  readonly account?: string
  readonly out?: string
}

interface CheckOptions {
  readonly repair?: boolean
  readonly json?: boolean
}

/** `document list|get|check` */
export function addDocument(program: Command, c: CommandContext): void {
  const document = program.command('document').description('look at documents of the service, and take their files')
  document
    .command('list')
    .description('list documents, with where their files are or why they are missing')
    .option('--account <name>', 'only of this account')
    .option('--submission <id>', 'only of this submission')
    .option('--state <state>', STATES.join(', '))
    .option('--limit <n>', 'how many at most', '100')
    .option('--json', 'as JSON, for programs')
    .action((options: ListOptions) => list(c, options))
  document
    .command('get')
    .description('take the file of a document; who took it is noted')
    .argument('<key>', 'its document_key')
    .option('--account <name>', 'of this account')
    .option('--out <file>', 'write it to this file, which must not exist; otherwise to standard output')
    .action((key: string, options: GetOptions) => get(c, key, options))
  document
    .command('check')
    .description('look whether the file of every stored document is there; exit code 1 when one is not')
    .option('--repair', 'have lost files fetched again')
    .option('--json', 'as JSON, for programs')
    .action((options: CheckOptions) => check(c, options))
}

async function list(c: CommandContext, options: ListOptions): Promise<void> {
  const problems: string[] = []
  const { account } = options
  const submissionId = parseSubmissionId(options.submission, '--submission', problems)
  const state = parseChoice(options.state, '--state', STATES, problems)
  const limit = parseCount(options.limit, '--limit', MAX_LISTED, problems)
  await withStore(c, { accounts: 'optional', prepare: false, looksOnly: true, problems }, async ({ config, db }) => {
    await refuseUnknownNames(db.read, config, { account })
    const documents = await listDocuments(db.read, { account, submissionId, state }, limit)
    if (options.json) return printJson(c, documents)
    const now = c.clock.now()
    const headings = [
      'key',
      'account',
      'submission',
      'name',
      'origin',
      'state',
      'bytes',
      'since',
      { heading: 'error', fit: 'below' } as const,
    ]
    const rows = documents.map((d) => {
      const since = d.stored_at ?? d.tried_at
      const about = [d.document_key, d.account, d.submission_id, d.name, d.origin, d.state, d.stored_bytes]
      return [...about, since === null ? null : ago(since, now), d.error]
    })
    printTable(c, { title: 'Documents', headings, rows }, 'No document.')
  })
}

async function get(c: CommandContext, key: string, { account, out }: GetOptions): Promise<void> {
  const problems = out === undefined && c.host.stdout.isTTY ? ['a file is nothing for a terminal: name one with --out'] : []
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ config, db }) => {
    const { clock, host } = c
    const context = { db, clock, signal: host.signal, observer: silentObserver, who: 'command' }
    const { bytes } = await openDocument(context, createDocumentStorage(config), key, account)
    if (out === undefined) {
      for await (const chunk of bytes) host.stdout.write(chunk as Uint8Array)
      return
    }
    const file = createWriteStream(out, { flags: 'wx', mode: 0o600 })
    await pipeline(bytes, file, { signal: host.signal }).catch(async (error: unknown) => {
      if (isThere(error)) throw new UsageError([`${out} exists already; name another file`])
      await rm(out, { force: true })
      throw error
    })
  })
}

async function check(c: CommandContext, { repair, json }: CheckOptions): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, looksOnly: repair !== true, problems: [] }, async ({ config, db }) => {
    const { clock, host } = c
    const context = { db, clock, signal: host.signal, observer: silentObserver, who: 'command' }
    const { looked, lost } = await checkDocumentFiles(context, createDocumentStorage(config))
    if (repair && lost.length > 0) await fetchAgain(context, lost)
    if (lost.length > 0) c.exitCode = exitCodes.failed
    if (json) return printJson(c, { looked, lost, repaired: repair === true })
    const headings = ['key', 'account', 'submission', 'name', 'path', 'bytes', 'found']
    const rows = lost.map((d) => [d.document_key, d.account, d.submission_id, d.name, d.stored_path, d.stored_bytes, d.found_bytes])
    printTable(c, { title: 'Lost files', headings, rows }, `The files of all ${looked} stored documents are there.`)
    if (lost.length === 0) return
    const next = repair
      ? 'A running `serve` fetches them again.'
      : 'Is DOCUMENTS_DIR, or the bucket, the one that they were stored in? If it is, `document check --repair` has them fetched again.'
    c.host.stdout.write(`${lost.length} of ${looked} files are missing or of another length. ${next}\n`)
  })
}

function isThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST'
}
