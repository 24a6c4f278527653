/**
 * Plants each fault of `test/plants/` into a copy of the tree, runs the tests that must find it, and prints a row for each. Exits with 1 if
 * a fault is missed, has no place in the source, or could not be judged.
 * node test/tools/plants.ts [--only NAME]... [--tree FOLDER]
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import PQueue from 'p-queue'
import { planted, type SoughtPlant } from '../plants/plant.ts'
import { plants } from '../plants/plants.ts'
import { type Round, roundsOf } from '../plants/rounds.ts'

const COPIES_AT_ONCE = 2
const WORKERS = 2
const PATIENCE_MS = 30 * 60_000
/** Errors that prove only that the source is broken. */
const BROKEN = /^(?:Syntax|Reference|Type)Error\b|^Error: (?:Cannot find |(?:Test|Hook) timed out)/
/** Kept environment, since the caller may be a test run. */
const KEPT = ['PATH', 'HOME', 'LANG', 'TMPDIR']

interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly status: 'passed' | 'failed'
    readonly message?: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: string
      readonly failureMessages?: readonly string[]
    }[]
  }[]
}

interface Judged {
  readonly verdict: 'found' | 'missed' | 'no longer applies' | 'not judged'
  readonly by: string
}

const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true }, tree: { type: 'string', default: join(import.meta.dirname, '../..') } },
})
const tree = values.tree
const startedAt = process.hrtime.bigint()
const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-plants-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const stopping = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort())

const { only = Object.keys(plants) } = values
const unknown = only.filter((name) => plants[name] === undefined)
if (unknown.length > 0) throw new Error(`no plant is named ${unknown.join(', ')}: ${Object.keys(plants).join(' · ')}`)
const sought = Object.entries(plants).filter(([name]) => only.includes(name))
const judged = new Map<string, Judged>()
const applicable = sought.filter(([name, plant]) => {
  const lack = lackOf(plant)
  if (lack !== null) judged.set(name, { verdict: 'no longer applies', by: lack })
  return lack === null
})
const queue = new PQueue({ concurrency: COPIES_AT_ONCE })
const rounds = roundsOf(tree, applicable).map((round) => queue.add(() => judge(round)))
const sound = await queue.add(() => soundTests(applicable))
await Promise.all(rounds)
for (const [name, { foundBy }] of applicable) {
  const broken = foundBy.filter((file) => !sound.has(`test/${file}`))
  if (broken.length > 0) judged.set(name, { verdict: 'not judged', by: `fails without a plant: ${broken.join(', ')}` })
}
print()

function lackOf(plant: SoughtPlant): string | null {
  const missing = plant.foundBy.find((file) => !existsSync(join(tree, 'test', file)))
  if (missing !== undefined) return `there is no test/${missing}`
  try {
    planted(plant, readFileSync(join(tree, 'src', plant.file), 'utf8'))
    return null
  } catch (error) {
    return String(error)
  }
}

/** Runs the test files without a plant. @returns those that pass. */
async function soundTests(round: Round): Promise<ReadonlySet<string>> {
  const copy = await copyTree()
  const report = await run(copy, testsOf(round), ['--retry=1'])
  const passed = report?.testResults.filter(({ status, assertionResults }) => status === 'passed' && assertionResults.length > 0) ?? []
  return new Set(passed.map(({ name }) => relative(copy, name)))
}

async function judge(round: Round): Promise<void> {
  const copy = await copyTree()
  for (const [, plant] of round) {
    const file = join(copy, 'src', plant.file)
    writeFileSync(file, planted(plant, readFileSync(file, 'utf8')))
  }
  const report = await run(copy, testsOf(round), [`--maxWorkers=${WORKERS}`])
  for (const [name, plant] of round) {
    const judgement = judgementOf(copy, plant, report)
    judged.set(name, judgement)
    console.error(`${judgement.verdict}: ${name} (${judgement.by})`)
  }
  rmSync(copy, { recursive: true, force: true })
}

function judgementOf(copy: string, { foundBy }: SoughtPlant, report: Report | null): Judged {
  const ran = report?.testResults.filter(({ name }) => foundBy.includes(relative(join(copy, 'test'), name))) ?? []
  const failed = ran.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages = [] }) => ({
        by: `${relative(join(copy, 'test'), name)}: ${fullName}`,
        isAsserted: failureMessages.some((message) => !BROKEN.test(message)),
        message: failureMessages[0] ?? '',
      })),
  )
  const found = failed.find(({ isAsserted }) => isAsserted)
  if (found) return { verdict: 'found', by: found.by }
  const [other] = failed
  if (other) return { verdict: 'missed', by: `${other.by} only throws ${firstLine(other.message)}` }
  const broken = ran.find(({ status }) => status === 'failed')
  if (broken || ran.length < foundBy.length)
    return { verdict: 'missed', by: `not all of its tests ran: ${firstLine(broken?.message ?? '')}` }
  return { verdict: 'missed', by: `all ${foundBy.join(', ')} pass` }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]?.slice(0, 200) ?? ''
}

function testsOf(round: Round): string[] {
  return [...new Set(round.flatMap(([, { foundBy }]) => foundBy.map((file) => `test/${file}`)))]
}

async function copyTree(): Promise<string> {
  const copy = mkdtempSync(join(folder, 'copy-'))
  const listed = await promisify(execFile)('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: tree })
  for (const file of listed.stdout.split('\0')) {
    if (file !== '' && existsSync(join(tree, file))) cpSync(join(tree, file), join(copy, file))
  }
  symlinkSync(join(tree, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

async function run(copy: string, tests: readonly string[], further: readonly string[] = []): Promise<Report | null> {
  const output = join(copy, 'report.json')
  const vitest = join(copy, 'node_modules/vitest/vitest.mjs')
  const flags = ['--project=tests', '--project=postgres', '--project=proofs', '--reporter=json', `--outputFile=${output}`]
  const env = Object.fromEntries(KEPT.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])))
  const child = spawn(process.execPath, [vitest, 'run', ...flags, ...further, ...tests], {
    cwd: copy,
    env: { ...env, PATH: `${dirname(process.execPath)}:${env['PATH'] ?? ''}`, CI: 'true', NO_COLOR: '1' },
    stdio: 'ignore',
    signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(PATIENCE_MS)]),
    // So that it ends its children too.
    killSignal: 'SIGINT',
  })
  await once(child, 'close').catch(() => undefined)
  stopping.signal.throwIfAborted()
  return existsSync(output) ? (JSON.parse(readFileSync(output, 'utf8')) as Report) : null
}

function print(): void {
  const seconds = Number((process.hrtime.bigint() - startedAt) / 1_000_000_000n)
  console.log('| plant | room | verdict | by |\n|---|---|---|---|')
  for (const [name, plant] of sought) {
    const { verdict, by } = judged.get(name) ?? { verdict: 'not judged', by: '' }
    console.log(`| ${name} | ${dirname(join('src', plant.file)).replace(/^src\//, '')} | ${verdict} | ${by.replaceAll('|', '\\|')} |`)
  }
  const found = [...judged.values()].filter(({ verdict }) => verdict === 'found').length
  console.log(`\n${found} of ${sought.length} plants found, in ${seconds} s`)
  process.exitCode = found === sought.length ? 0 : 1
}
