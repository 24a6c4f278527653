import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const project = fileURLToPath(new URL('../..', import.meta.url))

/** A file's place and a line in it, which the rules must refuse or allow. */
type Probe = readonly [place: string, line: string]

const refused: readonly Probe[] = [
  // The ground imports nothing above itself.
  ['src/clock', "import './model/time.ts'"],
  ['src/service', "import './app.ts'"],
  ['src/log', "import './store/db.ts'"],
  ['src/config/file', "import '../model/time.ts'"],
  ['src/config/file', "import '../main.ts'"],
  // Floors: no arrow upward.
  ['src/model/a', "import '../store/db.ts'"],
  ['src/model/a', "import 'node:fs'"],
  ['src/store/a', "import '../apply/apply.ts'"],
  ['src/store/a', "import type { Walk } from '../read/walk.ts'"],
  ['src/upstream/a', "import '../store/db.ts'"],
  ['src/upstream/a', "import '../apply/apply.ts'"],
  ['src/apply/a', "import '../upstream/wire.ts'"],
  ['src/apply/a', "import '../read/walk.ts'"],
  ['src/read/a', "import '../poll/visit.ts'"],
  ['src/receive/a', "import '../ops/metrics.ts'"],
  ['src/ops/a', "import '../app.ts'"],
  ['src/ops/a', "import '../main.ts'"],
  ['src/ops/commands/a', "import '../../app.ts'"],
  ['src/ops/commands/a', "import '../../sandbox/sandbox.ts'"],
  ['src/app', "import './main.ts'"],
  // Stages never import each other.
  ['src/receive/a', "import '../work/worker.ts'"],
  ['src/receive/a', "import '../poll/visit.ts'"],
  ['src/work/a', "import '../receive/route.ts'"],
  ['src/work/a', "import '../poll/visit.ts'"],
  ['src/poll/a', "import '../work/worker.ts'"],
  ['src/poll/a', "export { worker } from '../work/worker.ts'"],
  ['src/poll/a', "export const late = await import('../receive/route.ts')"],
  // The libraries of one room.
  ['src/apply/a', "import 'kysely'"],
  ['src/read/a', "import 'pg'"],
  ['src/work/a', "import 'better-sqlite3'"],
  ['src/ops/a', "import { sql } from 'kysely'"],
  ['src/app', "import 'pg'"],
  ['src/main', "import 'better-sqlite3'"],
  ['src/poll/a', "import 'fastify'"],
  ['src/store/a', "import 'fastify'"],
  ['src/app', "import 'fastify'"],
  // The sandbox never sees the product.
  ['src/sandbox/a', "import '../store/db.ts'"],
  ['src/sandbox/a', "import '../apply/apply.ts'"],
  ['src/sandbox/a', "import '../read/walk.ts'"],
  ['src/sandbox/a', "import '../work/worker.ts'"],
  ['src/sandbox/a', "import '../poll/visit.ts'"],
  ['src/sandbox/a', "import '../receive/route.ts'"],
  ['src/sandbox/a', "import '../ops/metrics.ts'"],
  ['src/sandbox/a', "import '../model/entities.ts'"],
  ['src/sandbox/world/a', "import '../../store/db.ts'"],
  // Only apply/ writes the mirror.
  ['src/store/a', "import './mirror-writer.ts'"],
  ['src/read/a', "import '../store/mirror-writer.ts'"],
  ['src/receive/a', "import '../store/mirror-writer.ts'"],
  ['src/work/a', "import '../store/mirror-writer.ts'"],
  ['src/ops/a', "import '../store/mirror-writer.ts'"],
  ['src/ops/commands/a', "import '../../store/mirror-writer.ts'"],
  ['src/app', "import './store/mirror-writer.ts'"],
  ['src/main', "import './store/mirror-writer.ts'"],
  // Only main.ts touches the process.
  ['src/store/a', "import { argv } from 'node:process'"],
  ['src/app', "import { env } from 'node:process'"],
  ['src/store/a', 'export const id = process.pid'],
  ['src/app', 'export const env = process.env'],
  ['src/config', 'process.exit(1)'],
  ['src/ops/a', 'globalThis.process.exit(1)'],
  // A migration stands alone.
  ['migrations/0002-more', "import '../src/model/entities.ts'"],
]

const allowed: readonly Probe[] = [
  ['src/config', "import 'zod'"],
  ['src/config', "import './config/file.ts'"],
  ['src/config', "import './errors.ts'"],
  ['src/model/a', "import '../errors.ts'"],
  ['src/model/a', "import './time.ts'"],
  ['src/store/a', "import 'kysely'"],
  ['src/store/a', "import 'pg'"],
  ['src/store/a', "import 'better-sqlite3'"],
  ['src/store/a', "import '../model/time.ts'"],
  ['src/store/a', "import '../../migrations/0001-mirror.ts'"],
  ['src/upstream/a', "import 'undici'"],
  ['src/upstream/a', "import '../model/time.ts'"],
  ['src/apply/a', "import '../store/mirror-writer.ts'"],
  ['src/apply/a', "import '../model/time.ts'"],
  ['src/read/a', "import '../apply/apply.ts'"],
  ['src/read/a', "import '../upstream/client.ts'"],
  ['src/receive/a', "import 'fastify'"],
  ['src/receive/a', "import '../store/db.ts'"],
  ['src/receive/a', "import '../upstream/signature.ts'"],
  ['src/receive/a', "import 'node:stream/promises'"],
  ['src/work/a', "import '../apply/apply.ts'"],
  ['src/work/a', "import 'p-queue'"],
  ['src/poll/a', "import '../read/walk.ts'"],
  ['src/poll/a', "import '../clock.ts'"],
  ['src/ops/a', "import 'fastify'"],
  ['src/ops/a', "import '../poll/visit.ts'"],
  ['src/ops/a', "import '../config.ts'"],
  ['src/ops/commands/a', "import '../table.ts'"],
  ['src/ops/commands/a', "import '../../store/db.ts'"],
  ['src/ops/commands/a', "import '../../config.ts'"],
  ['src/sandbox/world/a', "import '../wire.ts'"],
  ['src/sandbox/world/a', "import '../../clock.ts'"],
  ['src/sandbox/world/a', "import '../../model/time.ts'"],
  ['src/app', "import './ops/metrics.ts'"],
  ['src/app', "import './store/open.ts'"],
  ['src/main', "import './app.ts'"],
  ['src/main', 'process.exitCode = 1'],
  ['migrations/0002-more', "import type { Migration } from '../src/store/migration.ts'"],
]

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'import-rules-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** Writes files into a project that has the real settings. @returns its root. */
async function projectWith(name: string, files: ReadonlyMap<string, readonly string[]>): Promise<string> {
  const root = join(folder, name)
  for (const [file, lines] of files) {
    await mkdir(dirname(join(root, file)), { recursive: true })
    await writeFile(join(root, file), `${lines.join('\n')}\n`)
  }
  const settings = JSON.parse(await readFile(join(project, 'biome.json'), 'utf8')) as object
  await writeFile(join(root, 'biome.json'), JSON.stringify({ ...settings, $schema: undefined, vcs: { enabled: false } }))
  return root
}

interface Diagnostic {
  readonly category: string
  readonly location: { readonly path: string; readonly start: { readonly line: number } }
}

/** @returns what these rules report, as `path:line`. (`--only` would forget where a rule is off.) */
async function report(root: string, rules: readonly string[]): Promise<Set<string>> {
  const args = ['lint', '--reporter=json', '--max-diagnostics=none', '.']
  const output = await new Promise<string>((resolve) => {
    execFile(join(project, 'node_modules/.bin/biome'), args, { cwd: root }, (_error, stdout) => resolve(stdout))
  })
  const { diagnostics } = JSON.parse(output) as { diagnostics: readonly Diagnostic[] }
  const judged = diagnostics.filter(({ category }) => rules.includes(category))
  return new Set(judged.map(({ location }) => `${location.path}:${location.start.line}`))
}

/** Lints all probes at once. @returns those that were reported. */
async function judge(name: string, probes: readonly Probe[]): Promise<Probe[]> {
  const files = new Map<string, string[]>()
  const at = probes.map(([place, line]) => {
    const lines = files.get(`${place}.ts`) ?? []
    files.set(`${place}.ts`, lines)
    return `${place}.ts:${lines.push(line)}`
  })
  const reported = await report(await projectWith(name, files), ['lint/style/noRestrictedImports', 'lint/correctness/noProcessGlobal'])
  return probes.filter((_probe, index) => reported.has(at[index] ?? ''))
}

describe('the import rules', () => {
  it('refuse what goes upward, sideways, or to a library of another room', async () => {
    expect(await judge('refused', refused)).toEqual(refused)
  })

  it('allow what the rooms need', async () => {
    expect(await judge('allowed', allowed)).toEqual([])
  })

  it('refuse a circle, of types too', async () => {
    const files = new Map([
      ['src/model/a.ts', ["import type { B } from './b.ts'", 'export type A = B | 1']],
      ['src/model/b.ts', ["import type { A } from './a.ts'", 'export type B = A | 2']],
    ])
    const reported = await report(await projectWith('circle', files), ['lint/suspicious/noImportCycles'])
    expect(reported).toContain('src/model/a.ts:1')
  })
})
