import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const project = fileURLToPath(new URL('../..', import.meta.url))

/** A file, and what it imports: another file of the project, or a package. */
type Import = readonly [from: string, to: string]

const refused: readonly Import[] = [
  // base imports nothing above itself.
  ['src/base/clock.ts', 'src/model/time.ts'],
  ['src/base/service.ts', 'src/app.ts'],
  ['src/config/config.ts', 'src/store/engine/db.ts'],
  ['src/model/c.ts', 'src/config/config.ts'],
  ['src/config/schema/values.ts', 'src/config/sources/yaml.ts'],
  // No arrow upward.
  ['src/model/a.ts', 'src/store/engine/db.ts'],
  ['src/model/b.ts', 'node:fs'],
  ['src/store/engine/a.ts', 'src/apply/apply.ts'],
  ['src/store/mirror/a.ts', 'src/read/feed-pages.ts'],
  ['src/upstream/a.ts', 'src/store/engine/db.ts'],
  ['src/apply/a.ts', 'src/upstream/wire/feeds.ts'],
  ['src/read/a.ts', 'src/poll/claimed-read.ts'],
  ['src/receive/a.ts', 'src/ops/metrics/metrics.ts'],
  ['src/ops/cli/a.ts', 'src/app.ts'],
  ['src/ops/cli/commands/a.ts', 'src/sandbox/service/sandbox.ts'],
  ['src/app/a.ts', 'src/main.ts'],
  // Inside store, ops, push, reconcile and upstream too.
  ['src/store/schema/a.ts', 'src/store/engine/db.ts'],
  ['src/store/reads/a.ts', 'src/store/inbox/work.ts'],
  ['src/store/changes/a.ts', 'src/store/mirror/reader.ts'],
  ['src/store/outbox/a.ts', 'src/store/completeness/completeness.ts'],
  ['src/ops/output/a.ts', 'src/ops/status/status.ts'],
  ['src/ops/actions/a.ts', 'src/ops/http/server.ts'],
  ['src/ops/alarms/a.ts', 'src/ops/actions/purge.ts'],
  ['src/push/transport/a.ts', 'src/push/send/sender.ts'],
  ['src/reconcile/check/a.ts', 'src/reconcile/run/run.ts'],
  ['src/upstream/http/a.ts', 'src/upstream/wire/feeds.ts'],
  // Stages never import each other.
  ['src/receive/b.ts', 'src/work/worker.ts'],
  ['src/work/a.ts', 'src/receive/receiver.ts'],
  ['src/poll/a.ts', 'src/work/worker.ts'],
  ['src/push/send/a.ts', 'src/read/feed-pages.ts'],
  // Packages of one room.
  ['src/apply/b.ts', 'kysely'],
  ['src/read/b.ts', 'pg'],
  ['src/work/b.ts', 'better-sqlite3'],
  ['src/ops/status/a.ts', 'kysely'],
  ['src/app/b.ts', 'pg'],
  ['src/poll/b.ts', 'fastify'],
  ['src/store/engine/b.ts', 'fastify'],
  // The sandbox never sees the product.
  ['src/sandbox/a.ts', 'src/store/engine/db.ts'],
  ['src/sandbox/world/a.ts', 'src/model/entities.ts'],
  // The page and the program share nothing.
  ['src/console/a.ts', 'src/base/clock.ts'],
  ['src/ops/http/c.ts', 'src/console/b.ts'],
  ['src/ops/http/c.ts', 'react'],
  ['src/console/c.tsx', 'src/base/clock.ts'],
  // Only apply/ writes the mirror.
  ['src/store/completeness/a.ts', 'src/store/mirror/writer.ts'],
  ['src/reconcile/run/a.ts', 'src/store/mirror/writer.ts'],
  ['src/ops/actions/b.ts', 'src/store/mirror/writer.ts'],
  // A migration imports nothing of the product.
  ['migrations/0099-more.ts', 'src/model/entities.ts'],
]

const allowed: readonly Import[] = [
  ['src/config/config.ts', 'zod'],
  ['src/model/a.ts', 'src/base/errors.ts'],
  ['src/model/b.ts', 'node:crypto'],
  ['src/store/engine/a.ts', 'kysely'],
  ['src/store/mirror/a.ts', 'src/store/changes/change-log.ts'],
  ['src/store/migrate/a.ts', 'migrations/index.ts'],
  ['src/upstream/a.ts', 'undici'],
  ['src/apply/a.ts', 'src/store/mirror/writer.ts'],
  ['src/read/a.ts', 'src/upstream/client.ts'],
  ['src/receive/a.ts', 'fastify'],
  ['src/poll/a.ts', 'src/read/feed-pages.ts'],
  ['src/ops/cli/commands/a.ts', 'src/ops/actions/purge.ts'],
  ['src/ops/http/a.ts', 'src/poll/claimed-read.ts'],
  ['src/sandbox/world/a.ts', 'src/model/time.ts'],
  ['src/app/a.ts', 'src/ops/metrics/metrics.ts'],
  ['src/main.ts', 'src/app.ts'],
  ['src/console/api/a.ts', 'react'],
  ['src/console/parts/a.tsx', 'src/console/api/a.ts'],
  ['migrations/0099-more.ts', 'src/store/schema/migration.ts'],
]

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'import-rules-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

interface Violation {
  readonly from: string
  readonly to: string
  readonly rule: { readonly name: string }
}

/** Each kind of file holds what only its own grammar reads: a type in angle brackets is no element, and the other way round. */
function bodyOf(file: string): string {
  return file.endsWith('.tsx') ? 'export const Part = () => <p>text</p>\n' : 'export const cast = <T>(value: unknown) => <T>value\n'
}

/**
 * Writes files that import each other into a project with the real rules.
 * @param how the words before what is imported.
 * @returns what the rules report.
 */
async function violations(name: string, imports: readonly Import[], how = 'import'): Promise<Violation[]> {
  const root = join(folder, name)
  const isFile = (to: string) => /\.tsx?$/.test(to)
  const files = new Map<string, string>(imports.map(([, to]) => [to, bodyOf(to)] as const).filter(([to]) => isFile(to)))
  for (const [from, to] of imports) {
    const path = relative(dirname(from), to)
    files.set(from, `${files.get(from) ?? bodyOf(from)}${how} '${isFile(to) ? (path.startsWith('.') ? path : `./${path}`) : to}'\n`)
  }
  for (const [file, text] of files) {
    await mkdir(dirname(join(root, file)), { recursive: true })
    await writeFile(join(root, file), text)
  }
  await mkdir(join(root, 'migrations'), { recursive: true })
  await copyFile(join(project, '.dependency-cruiser.mjs'), join(root, '.dependency-cruiser.mjs'))
  await copyFile(join(project, 'package.json'), join(root, 'package.json'))
  await symlink(join(project, 'node_modules'), join(root, 'node_modules'))
  const args = ['--config', '.dependency-cruiser.mjs', '--output-type', 'json', 'src', 'migrations']
  const output = await new Promise<string>((resolve) => {
    execFile(join(project, 'node_modules/.bin/depcruise'), args, { cwd: root }, (_error, stdout) => resolve(stdout))
  })
  return (JSON.parse(output) as { summary: { violations: Violation[] } }).summary.violations
}

describe('the import rules', () => {
  it('refuse what goes upward, sideways, or to a package of another room', async () => {
    const reported = await violations('refused', refused)
    const isReported = ([from, to]: Import) => reported.some((each) => each.from === from && each.to.includes(to.replace('node:', '')))
    expect(refused.filter((each) => !isReported(each))).toEqual([])
  })

  it('allow the imports that the modules need', async () => {
    expect(await violations('allowed', allowed)).toEqual([])
  })

  it.each([
    ['src/model/a.ts', 'src/model/b.ts'],
    ['src/console/a.tsx', 'src/console/b.tsx'],
    ['src/console/a.tsx', 'src/console/b.ts'],
  ])('refuse a circle of %s and %s, of types too', async (one, other) => {
    const circle: Import[] = [
      [one, other],
      [other, one],
    ]
    const name = `circle${one}${other}`.replaceAll(/\W/g, '-')
    for (const how of ['import', 'import type {} from']) {
      const reported = await violations(`${name}${how.length}`, circle, how)
      expect(reported.map(({ rule }) => rule.name)).toContain('no-circle')
    }
  })

  it('know every folder of the house', async () => {
    const rules = await readFile(join(project, '.dependency-cruiser.mjs'), 'utf8')
    const { stdout } = await new Promise<{ stdout: string }>((resolve) => {
      execFile('git', ['ls-files', 'src'], { cwd: project }, (_error, stdout) => resolve({ stdout }))
    })
    const folders = [
      ...new Set(
        stdout
          .split('\n')
          .filter((file) => file.split('/').length > 2)
          .map((file) => file.split('/')[1]),
      ),
    ]
    expect(folders.filter((name) => !rules.includes(`'src/${name}'`))).toEqual([])
  })
})
