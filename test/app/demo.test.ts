import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, expect, it } from 'vitest'
import { relations } from '../../src/store/schema/tables.ts'
import { compiledEnv } from '../tools/compile-cache.ts'
import { queriesOf, queryDocuments, shown } from '../tools/document-queries.ts'
import { programPath } from '../tools/program.ts'
import { installedReaders, isReading, printedBy, type Reader, readEverything, sqlite333 } from '../tools/readers.ts'
import { until } from '../tools/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-demo-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const textOf = (document: string) => readFileSync(new URL(`../../${document}`, import.meta.url), 'utf8')

/** Queries of the documents that give the same answers in every demo, except times. */
const REPEATED = [
  'Status of each market',
  'Time to quote by market',
  'Hit ratio by market',
  'Hit ratio by line',
  'Bound this month',
  'Premium by producer',
  'Open submissions and their lowest quote',
  'Submissions with a line of business',
  'Open items of the broker',
  'Answers given to carriers',
  'Bindings in progress',
  'Fields without a column',
]

/** Issues that the demo leaves, in the order in which `status` lists them. */
const ADVICE = [
  /^• 1 document of account default cannot be fetched, because DOCUMENT_HOSTS does not list documents\.invalid/m,
  /^• 1 change for destination accounting is dead-lettered \(began/m,
  /^• 1 submission needs an AMS client \(destination accounting\) \(began/m,
]
/** By webhook, by polling, backfill; of what was found without a webhook a part counts as lost. */
const LOST = /^default +[1-9]\d* +[1-9]\d* +[1-9]\d* +0 +([1-9]\d*) +[1-9][\d.]* % +[1-9][\d.]* %$/m

it('the demo shows every kind of arrival on one screen, ends with a good verdict, and leaves its database', {
  timeout: 300_000,
}, async () => {
  const demo = await heldDemo()
  const path = join(folder, 'mirror.db')
  const [, printed = ''] = /^((?: {2}export .*\n)(?: {2}.* status\n))/m.exec(demo.out) ?? []
  // Document fetches and lost webhooks are noticed seconds later.
  const status = await until('status lists every issue that is left', async () => {
    const looked = await shell(printed)
    expect(looked).toMatchObject({ code: 0, err: '' })
    return ADVICE.every((line) => line.test(looked.out)) && LOST.test(looked.out) && looked
  })
  const settings = printed.split('\n')[0] ?? ''
  await followPrinted(settings, status.out)
  const fixed = await followAdvice(demo)
  const ended = await demo.stop()
  expect(ended).toMatchObject({ code: 0, err: '' })
  expect(ended.out).toBe(demo.out)
  for (const mark of ['webhook', 'history', 'lost', 'found', 'ams']) expect(ended.out).toMatch(new RegExp(`^ *[\\d.]+ s  ${mark} `, 'm'))
  const lines = ended.out.trimEnd().split('\n')
  expect(lines.length).toBeLessThanOrEqual(24)
  // Lines with the folder's path may be longer.
  expect(lines.filter((line) => line.length > 100 && !line.includes(folder) && !line.endsWith(' status'))).toEqual([])
  const [verdict, arrivals = '', mirror, ams, reconciliation] = lines.slice(-5)
  expect(verdict).toBe('The mirror agrees with the service, and the AMS has every change, in order.')
  expect(arrivals).toMatch(/^ {2}Arrivals +\d+ records: \d+ by webhook, \d+ by polling \([1-9]\d* lost webhooks\), \d+ older$/)
  const [records = 0, byWebhook = 0, byPolling = 0, lost = 0, older = 0] = (arrivals.match(/\d+/g) ?? []).map(Number)
  expect(byWebhook + byPolling + older).toBe(records)
  // `status`, `completeness`, and `inbox lost` show the same number.
  expect(LOST.exec(status.out)?.[1]).toBe(String(lost))
  expect(mirror).toMatch(/^ {2}Mirror +\d+ rows of \d+ tables compared with the emulator's own data, 0 different$/)
  expect(ams).toMatch(/^ {2}AMS +(\d+) of \1 changes received, \d+ rejected and retried, \d+ received twice$/)
  expect(reconciliation).toMatch(/^ {2}Reconciliation +12 of 12 submissions checked, \d+ rows of API answers compared; no findings$/)
  expect(existsSync(path)).toBe(true)
  const events = readFileSync(join(folder, 'events.log'), 'utf8')
  expect(events.match(/s {2}(?:webhook|poll|found) /g)).toHaveLength(byWebhook + byPolling)
  expect(readFileSync(join(folder, 'reconciliation.html'), 'utf8')).toContain('The mirror agrees with the service')
  const amsLog = readFileSync(join(folder, 'ams.log'), 'utf8')
  for (const answered of ['200', '503', 'gone']) expect(amsLog).toMatch(new RegExp(`^\\S+Z  ${answered} `, 'm'))
  // At the turn of an hour, the share of lost webhooks is reported too.
  expect(status.out.match(/^• (?!no webhook announced).*(?= \(began)/gm)).toHaveLength(ADVICE.length)
  expect(fixed).toEqual({ dead: 0, queued: 0, unmapped_streams: 0, accepted: 1 })
  expect(status.out).toMatch(/^account +reconciled +never +oldest reconciled\ndefault +12 +0 +\d+ s ago$/m)
})

async function heldDemo() {
  const child = spawn(process.execPath, [programPath('main'), 'demo', '--folder', folder, '--hold'], {
    env: { PATH: process.env['PATH'] ?? '', ...compiledEnv() },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  const err = text(child.stderr)
  const held = new Promise<void>((resolve) => {
    child.once('close', () => resolve())
    child.stdout.on('data', (piece: Buffer) => {
      out += piece.toString()
      if (/^ {2}Reconciliation .*\n/m.test(out)) resolve()
    })
  })
  await held
  return {
    out,
    stop: async () => {
      const closed = once(child, 'close')
      child.kill('SIGINT')
      await closed
      return { code: child.exitCode, out, err: await err }
    },
  }
}

async function shell(lines: string) {
  const child = spawn('sh', ['-ec', lines], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...compiledEnv() },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, out, err }
}

/** Runs every command that `status` and `doctor` print. A retry is only counted: the console does it later. */
async function followPrinted(settings: string, status: string): Promise<void> {
  const commandsIn = (printed: string) =>
    [...printed.matchAll(/^ {4}(\/.*)$|`(\/[^`]+)`/gm)].map(([, line, quoted]) => line ?? quoted ?? '')
  const first = commandsIn(status)
  expect(first).toEqual([
    expect.stringMatching(/ document list --account default --state failed$/),
    expect.stringMatching(/ outbox retry --destination accounting --state dead$/),
    expect.stringMatching(/ destination map accounting --file clients\.csv$/),
  ])
  const [program = ''] = / document list /.exec(first[0] ?? '') ? (first[0] ?? '').split(' document list ') : []
  const doctor = await shell(`${settings}\n${program} doctor || true`)
  for (const command of [...first, ...commandsIn(doctor.out)]) {
    const tried = command.includes(' outbox retry ') ? `${command} --dry-run` : command
    // The file of clients is for the reader to write.
    const err = command.includes(' clients.csv') ? expect.stringContaining('clients.csv') : ''
    expect(await shell(`${settings}\n${tried}`), command).toMatchObject({ err })
  }
}

/** Follows the console's advice for each open issue. @returns the rest. */
async function followAdvice(demo: { out: string }) {
  const [, origin = '', token = ''] = /(http:\S+)\/console\/#token=(\S+)/.exec(demo.out) ?? []
  const ask = async <T>(path: string, body?: object): Promise<T> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const post = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    return (await (await fetch(`${origin}/api/v1${path}`, { ...post, headers })).json()) as T
  }
  expect(await ask('/session/methods')).toMatchObject({ link: true })
  const { issues } = await ask<Overview>('/overview')
  const retry = issues.find(({ kind }) => kind === 'push_dead')?.fix
  await ask(retry?.path?.replace('/api/v1', '') ?? '', retry?.body ?? {})
  const { items: waiting } = await ask<{ items: { submission_id: string }[] }>('/destinations/accounting/unmapped')
  await ask('/destinations/accounting/mappings', { submission_id: waiting[0]?.submission_id, client: 'C-2001' })
  const { accepted } = await ask<{ accepted: number }>('/rejected/replay', {})
  const books = await until('accounting has every policy', async () => {
    const { items } = await ask<{ items: Books[] }>('/destinations')
    return items.find(({ destination, queued }) => destination === 'accounting' && queued === 0)
  })
  return { dead: books.dead, queued: books.queued, unmapped_streams: books.unmapped_streams, accepted }
}

interface Overview {
  readonly issues: readonly { readonly kind: string; readonly fix: { readonly path?: string; readonly body?: object } }[]
}

interface Books {
  readonly destination: string
  readonly queued: number
  readonly dead: number
  readonly unmapped_streams: number
}

it('strangers read all of that database, and the answers of the documents from it', async () => {
  const path = join(folder, 'mirror.db')
  const readers = [await sqlite333(), ...installedReaders()]
  for (const reader of readers) {
    expect(readEverything(reader, path), reader.name).toBe(relations.length)
    expectAnswers(reader, path)
  }
  if (readers.some(({ name }) => name === 'sqlite3')) {
    for (const { statementFor, answer } of queriesOf(textOf('README.md')).slice(0, 2)) {
      const command = `sqlite3 -readonly -header -column data/mirror.db "${statementFor('sqlite')}"`
      expect(printedBy('sqlite3', command, path)).toBe(answer)
    }
  }
})

function expectAnswers({ name, readAll }: Reader, path: string): void {
  const withoutTimes = (text: string | null) => text?.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'a time')
  const asked = [...queryDocuments.flatMap((name) => queriesOf(textOf(`migrations/${name}`))), ...queriesOf(textOf('README.md'))]
    .map((query) => ({ ...query, statement: query.statementFor('sqlite') }))
    .filter(({ statement }) => isReading(statement))
  const answers = readAll(
    path,
    asked.map(({ statement }) => statement),
  )
  const repeated = asked.flatMap(({ question, answer }, n) =>
    REPEATED.includes(question) ? [{ question, answer, rows: answers[n] ?? [] }] : [],
  )
  expect(repeated.map(({ question }) => question)).toEqual(REPEATED)
  for (const { question, answer, rows } of repeated) expect(withoutTimes(shown(rows)), `${question} (${name})`).toBe(withoutTimes(answer))
}
