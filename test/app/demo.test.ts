import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, expect, it } from 'vitest'
import { relations } from '../../src/store/schema/tables.ts'
import { compiledEnv } from '../tools/compile-cache.ts'
import { queriesOf, shown } from '../tools/document-queries.ts'
import { programPath } from '../tools/program.ts'
import { installedReaders, isReading, printedBy, type Reader, readEverything, sqlite333 } from '../tools/readers.ts'
import { until } from '../tools/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-demo-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const textOf = (document: string) => readFileSync(new URL(`../../${document}`, import.meta.url), 'utf8')

/** Of which queries.md promises that any demo gives their answers, but for times. */
const REPEATED = [
  'Where is each market, and since when?',
  'How long does a market take to quote?',
  'What is the hit ratio by market?',
  'What is the hit ratio by line?',
  'Which submissions are open, and what is their lowest quote?',
  'Which submissions have a given line of business?',
  'What must the broker still supply?',
  'Which answers does a carrier have?',
  'What did the service say that has no column?',
  'What is being bound?',
  'What was bound this month?',
  'How much premium does each producer bind?',
]

/** Issues that the demo leaves, in the order in which `status` lists them. */
const ADVICE = [
  /^• 1 document of account default lies on documents\.invalid/m,
  /^• 1 change for destination accounting was given up \(for/m,
  /^• 1 submission waits at destination accounting for a client of the AMS \(for/m,
]
/** By webhook, by polling, backfill; of what was found without a webhook a part counts as lost. */
const LOST = /^default +[1-9]\d* +[1-9]\d* +[1-9]\d* +0 +[1-9]\d* +[1-9][\d.]* % +[1-9][\d.]* %$/m

it('the demo shows arrivals of every kind, ends with agreement of service, mirror and AMS, and leaves a database that can be looked into', {
  timeout: 300_000,
}, async () => {
  const demo = await heldDemo()
  const path = join(folder, 'mirror.db')
  const [, printed = ''] = /^((?: {2}export .*\n)(?: {2}.* status\n))/m.exec(demo.out()) ?? []
  // The fetch of a document and the loss of a webhook are noticed seconds later.
  const status = await until('status lists every issue that is left', async () => {
    const looked = await shell(printed)
    expect(looked).toMatchObject({ code: 0, err: '' })
    return ADVICE.every((line) => line.test(looked.out)) && LOST.test(looked.out) && looked
  })
  const settings = printed.split('\n')[0] ?? ''
  await followPrinted(settings, status.out)
  const mended = await followAdvice(demo)
  const ended = await demo.stop()
  expect(ended).toMatchObject({ code: 0, err: '' })
  for (const mark of ['webhook', 'history', 'lost', 'found', 'ams']) expect(ended.out).toMatch(new RegExp(`^ *[\\d.]+ s  ${mark} `, 'm'))
  expect(ended.out).toMatch(
    /\nthe AMS has every change, in order\nmirror agrees with the service\nEverything runs on, to look around\. Ctrl\+C ends it\.\nConsole: http:\S+\/console\/#token=\S+\n$/,
  )
  expect(existsSync(path)).toBe(true)
  expect(ended.out).toMatch(/^logged by the mirror +(\d+)\narrived at the AMS +\1$/m)
  const number = (line: string) => Number(new RegExp(`^${line} +(\\d+)`, 'm').exec(ended.out)?.[1])
  const ways = ['by webhook', 'by polling, before their [^0-9]*', 'by polling, after their [^0-9]*', 'by reading the history [^0-9]*'].map(
    number,
  )
  expect(ways.reduce((sum, n) => sum + n)).toBe(number('market_events') + number('thread_messages'))
  expect(ended.out).toMatch(/^12 of 12 submissions looked at, \d+ rows compared; nothing was found$/m)
  expect(readFileSync(join(folder, 'reconciliation.html'), 'utf8')).toContain('The mirror agrees with the service')
  const amsLog = readFileSync(join(folder, 'ams.log'), 'utf8')
  for (const answered of ['200', '503', 'gone']) expect(amsLog).toMatch(new RegExp(`^\\S+Z  ${answered} `, 'm'))
  // When an hour began meanwhile, the share of lost webhooks is told, too.
  expect(status.out.match(/^• (?!no webhook announced).*(?= \(for)/gm)).toHaveLength(ADVICE.length)
  expect(mended).toEqual({ dead: 0, queued: 0, unmapped_lanes: 0, accepted: 1 })
  expect(status.out).toMatch(/^account +verified +never +oldest proof\ndefault +12 +0 +\d+ s ago$/m)
})

/** A demo that everything was told of, and that runs on. */
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
      if (out.includes('Ctrl+C')) resolve()
    })
  })
  await held
  return {
    out: () => out,
    stop: async () => {
      const closed = once(child, 'close')
      child.kill('SIGINT')
      await closed
      return { code: child.exitCode, out, err: await err }
    },
  }
}

/** Runs lines as they were printed, in the folder of the demo. */
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
    // The file of clients is the reader's to write.
    const err = command.includes(' clients.csv') ? expect.stringContaining('clients.csv') : ''
    expect(await shell(`${settings}\n${tried}`), command).toMatchObject({ err })
  }
}

/** Does what the console offers for each thing that is left. @returns what is left then. */
async function followAdvice(demo: { out: () => string }) {
  const [, origin = '', token = ''] = /(http:\S+)\/console\/#token=(\S+)/.exec(demo.out()) ?? []
  const ask = async <T>(path: string, body?: object): Promise<T> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const post = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    return (await (await fetch(`${origin}/api/v1${path}`, { ...post, headers })).json()) as T
  }
  expect(await ask('/session/methods')).toMatchObject({ link: true })
  const { needs } = await ask<Overview>('/overview')
  const retry = needs.find(({ kind }) => kind === 'dead_changes')?.mend
  await ask(retry?.path?.replace('/api/v1', '') ?? '', retry?.body ?? {})
  const { items: waiting } = await ask<{ items: { submission_id: string }[] }>('/destinations/accounting/unmapped')
  await ask('/destinations/accounting/mappings', { submission_id: waiting[0]?.submission_id, client: 'C-2001' })
  const { accepted } = await ask<{ accepted: number }>('/rejected/replay', {})
  const books = await until('accounting has every policy', async () => {
    const { items } = await ask<{ items: Books[] }>('/destinations')
    return items.find(({ destination, queued }) => destination === 'accounting' && queued === 0)
  })
  return { dead: books.dead, queued: books.queued, unmapped_lanes: books.unmapped_lanes, accepted }
}

interface Overview {
  readonly needs: readonly { readonly kind: string; readonly mend: { readonly path?: string; readonly body?: object } }[]
}

interface Books {
  readonly destination: string
  readonly queued: number
  readonly dead: number
  readonly unmapped_lanes: number
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
  const asked = [...queriesOf(textOf('migrations/queries.md')), ...queriesOf(textOf('README.md'))]
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
